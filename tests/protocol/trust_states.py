"""Initial TrustStates of tests."""

from __future__ import annotations

from annotation.protocol.trust import ControlGraded, QualificationTaken, WorkerJoined, WorkerTrust, replay
from annotation.protocol.trust_settings import TrustSettings

SETTINGS = TrustSettings()
ADMITTED = (WorkerJoined(), QualificationTaken(10, 10))


def in_warm_up(kind: str = "coref_link") -> WorkerTrust:
    return replay(kind, ADMITTED, SETTINGS)


def answered(kind: str, answers: list[bool]) -> WorkerTrust:
    return replay(kind, [*ADMITTED, *map(ControlGraded, answers)], SETTINGS)
