"""Pending answers and their sender under random faults: no answer is lost, none is stored twice."""

from __future__ import annotations

from tests.browser.conftest import Open

#: Runs in a page: pending answers and their sender with a simulated clock and server. Each play gives
#: answers, undoes some, loses requests before and after they arrive, and ends when no answer is pending.
PLAYS = """async (plays) => {
  const { PendingAnswers, HOLD } = await import("/static/annotation/tasks/pending_answers.js");
  const { Sender } = await import("/static/annotation/tasks/sender.js");
  const wrong = [];
  for (let play = 0; play < plays; play += 1) {
    let seed = play * 2654435761 % 4294967296;
    const random = () => (seed = (seed * 1664525 + 1013904223) % 4294967296) / 4294967296;
    const kept = new Map();
    const storage = {
      get: (key, usual) => (kept.has(key) ? JSON.parse(kept.get(key)) : usual),
      put: (key, value) => kept.set(key, JSON.stringify(value)),
      remove: (key) => kept.delete(key),
    };
    let now = 1e12;
    const server = new Map();  // assignment -> [token, answer]
    const meant = new Map();
    const told = new Set();
    let twice = 0;
    const send = async ({ assignment, token, answer }) => {
      const luck = random();
      if (luck < 0.2) return { status: 0, body: {} };
      if (luck < 0.3) return { status: 500, body: {} };
      if (luck < 0.35) return { status: 401, body: {} };
      const there = server.get(assignment);
      if (there && there[0] !== token) return { status: 409, body: { detail: "answered" } };
      if (there && there[1] !== answer) twice += 1;
      if (!there) server.set(assignment, [token, answer]);
      return luck < 0.5 ? { status: 0, body: {} } : { status: 200, body: {} };
    };
    const clock = () => now;
    const box = () => new PendingAnswers(storage, "1:c:k", clock);
    const make = () => new Sender({ pending: box(), send, now: clock, online: () => true });
    let sender = make();
    for (let n = 0; n < 12; n += 1) {
      sender.pending.add({ assignment: n, token: `t${n}`, answer: "first", label: "" });
      meant.set(n, "first");
      now += random() * 2 * HOLD;
      if (random() < 0.3) await sender.run();
      const taken = random() < 0.3 && sender.pending.takeBack(n);
      if (taken) {
        sender.pending.add({ ...taken, answer: "second" });
        meant.set(n, "second");
      }
      sender.run();
      if (random() < 0.1) {  // a reload
        sender.stop();
        await new Promise((resolve) => setTimeout(resolve));
        sender = make();
      }
    }
    for (let round = 0; sender.pending.entries.length && round < 500; round += 1) {
      now += 70000;
      await sender.run();
    }
    sender.stop();
    for (const { assignment } of sender.pending.refused) told.add(assignment);
    for (const [assignment, answer] of meant) {
      const there = server.get(assignment)?.[1];
      if (there !== answer && !told.has(assignment)) wrong.push([play, assignment, there, answer]);
    }
    if (twice) wrong.push([play, "another answer under an old token"]);
  }
  return wrong;
}"""


def test_whatever_is_lost_on_the_way_every_answer_arrives_as_it_was_meant_or_is_told_of(open_page: Open):
    page = open_page()
    page.goto("/sign-in/")
    assert page.evaluate(PLAYS, 300) == []
