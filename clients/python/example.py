"""Example of the API for researchers: open a campaign, look at it, export it, compare two runs, build a
report.

    python example.py http://127.0.0.1:8000 TOKEN CORPUS RUN_FILE RUN_FILE

CORPUS exists, with a layer of its own. The files are TREC runs over it with images as queries.
"""

from __future__ import annotations

import sys
from pathlib import Path

from phrasebox_client import Client, Problem

SETTINGS = {"pay": {"basis": "hour", "hourly": 12.5, "currency": "EUR"}, "trust": {"qualification": False}}


def main(server: str, token: str, corpus: str, *run_files: str) -> None:
    """Run the example; print the steps."""
    client = Client(server, token)
    print("I am", client.get("me")["username"])
    data = client.get(f"corpora/{corpus}")
    print(f"{data['name']}: {data['images']} images, layers {[layer['name'] for layer in data['layers']]}")

    plan = {"name": "afternoon", "corpus": corpus, "tasks": "entities", "campaign_settings": SETTINGS}
    client.finished(client.post("campaigns", {**plan, "images": 2})["job"], every=0.2)
    campaign = client.get("campaigns/afternoon")
    images, due = campaign["progress"]["images"], campaign["cost"]["due"]
    print(f"afternoon is {campaign['state']}: {images} images, due {due}")
    client.post("campaigns/afternoon/pause", {"reason": "We look at the first answers."})
    client.post("campaigns/afternoon/resume")

    # There are no answers yet: the imported data is exported.
    options = {"format": "jsonl", "unfinished": "include", "layer": data["layers"][0]["name"]}
    export = client.post(f"corpora/{corpus}/exports", options)
    archive = client.download(f"jobs/{client.finished(export, every=0.2)['number']}/download")
    print(f"the export has {len(archive)} bytes")

    names = []
    for file in run_files:
        names.append(Path(file).stem)
        fields = {
            "name": names[-1],
            "corpus": corpus,
            "direction": "annotation",
            "system": f"{names[-1]}-system",
        }
        client.upload("runs", fields, file=file)
    freezing = client.post("qrels", {"name": "originals", "corpus": corpus, "protocol": "first caption"})
    client.finished(freezing, every=0.2)
    compared = client.get("comparisons", runs=names, qrels="originals", measures=["MRR"])
    for run in compared["systems"]:
        print(run["run"], run["figures"])

    report = client.post(
        "reports", {"name": "afternoon", "qrels": "originals", "runs": names, "measures": ["MRR"]}
    )
    client.finished(report, every=0.2)
    print(f"the report has {len(client.get('reports/afternoon')['files'])} files")
    try:
        client.get("campaigns/nothing")
    except Problem as problem:
        print("refused:", problem.code)
    print("campaigns:", [campaign_data["name"] for campaign_data in client.rows("campaigns", limit=1)])


if __name__ == "__main__":
    main(*sys.argv[1:])
