// An annotator's half hour and a researcher's afternoon, by fetch, with the types that openapi-typescript made.
//
// `node days.js SERVER ANNOTATOR_TOKEN RESEARCHER_TOKEN RUN_FILE`; prints what was done, as JSON.
import { readFileSync } from "node:fs";
import type { components, operations, paths } from "./made.js";

type Schemas = components["schemas"];
type Task = Schemas["WorkerTask"];
type Offer = Schemas["WorkerOffer"];
type Method = "get" | "post" | "patch" | "delete";
// What the document says of a call: its body, its query, and what it is answered.
type Body<O> = O extends { requestBody?: { content: infer C } } ? C[keyof C] : undefined;
type Json<O> = O extends { requestBody?: { content: { "application/json": infer J } } } ? J : undefined;
type Query<O> = O extends { parameters: { query?: infer Q } } ? Q : undefined;
type Said<O> = O extends { responses: infer R }
  ? { [S in keyof R & (200 | 201 | 202)]: R[S] extends { content: { "application/json": infer J } } ? J : never }[keyof R & (200 | 201 | 202)]
  : never;

class Caller {
  constructor(private server: string, private authorization: string) {}

  async send(method: string, path: string, body?: FormData | string): Promise<Response> {
    const headers: Record<string, string> = { Authorization: this.authorization };
    if (typeof body === "string") headers["Content-Type"] = "application/json";
    const answer = await fetch(this.server + path, { method, headers, body });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  // A call of the document: `place` fills in its address.
  async call<P extends keyof paths & string, M extends Method & keyof paths[P]>(
    method: M,
    path: P,
    place: Record<string, string | number> = {},
    body?: Json<paths[P][M]>,
    query?: Query<paths[P][M]>,
  ): Promise<Said<paths[P][M]>> {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {})) {
      for (const each of Array.isArray(value) ? value : [value]) asked.append(name, String(each));
    }
    const address = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(place[name])));
    const search = asked.size ? `?${asked}` : "";
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const answer = await this.send(method.toUpperCase(), address + search, sent);
    return (answer.status === 204 ? undefined : await answer.json()) as Said<paths[P][M]>;
  }

  async finished(job: Schemas["JobStatus"]): Promise<Schemas["JobStatus"]> {
    for (;;) {
      const now = await this.call("get", "/api/v1/jobs/{job}", { job: job.number });
      if (now.state === "done") return now;
      if (now.state !== "queued" && now.state !== "running") throw new Error(JSON.stringify(now));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

type Given = Omit<Body<operations["worker_answer"]>, "token">;

// An answer: the kind tells which fields the task has, and the compiler that no kind is forgotten.
function answerTo(task: Task): Given {
  switch (task.kind) {
    case "coref_link":
      return { answer: task.mentions.length === 2 ? "yes" : "no" };
    case "chain_verification":
      return { answer: "true" };
    case "box_requirement":
      return { answer: "box" };
    case "box_drawing":
      return { answer: "drawn", box: [3, 4, task.image.width, task.image.height], way: "drag" };
    case "box_quality":
      return { answer: task.pending?.length === 4 ? "good" : "bad" };
    case "box_coverage":
      return { answer: task.boxes.length ? "complete" : "more" };
    case "relevance":
    case "tag_relevance":
      return { answer: "judged", ticked: task.blocks.map((block) => block.captions.map(() => true)) };
    case "graded_relevance":
      return { answer: task.caption ? "3" : "1" };
    case "caption_writing":
      return task.sentence === null ? { answer: "written", text: "Two people walk in a park." } : { answer: "correct" };
    case "region_description":
      return {
        answer: "described",
        regions: Array.from({ length: task.regions }, (_, n) => ({ box: [n + 1, 1, n + 60, 90], text: "a part" })),
      };
    default:
      return task satisfies never;
  }
}

async function halfHour(worker: Caller): Promise<string[]> {
  const done = new Set<string>();
  const { tasks } = await worker.call("get", "/api/tasks");
  for (const { campaign, kind, nothing } of tasks as Offer[]) {
    if (nothing !== null || done.has(kind) || campaign === "tested") continue;
    const task = await worker.call("post", "/api/tasks/next", {}, { campaign, kind });
    if ("nothing" in task) continue;
    const place = { assignment: task.id };
    await worker.call("post", "/api/assignments/{assignment}/heartbeat", place);
    const body = { token: `t${task.id}`, seconds: 2.5, ...answerTo(task) };
    const { next } = await worker.call("post", "/api/assignments/{assignment}/answer", place, body);
    done.add(task.kind);
    if (next && "id" in next) await worker.call("post", "/api/assignments/{assignment}/return", { assignment: next.id });
  }
  return [...done].sort();
}

async function afternoon(caller: Caller, runFile: string): Promise<object> {
  const corpora = await caller.call("get", "/api/v1/corpora");
  if (!corpora.results.some((row) => row.name === "quay")) throw new Error("there is no corpus quay");
  for (const name of ["first", "second"]) {
    const form = new FormData();
    const fields: Omit<Body<operations["import_run"]>, "file"> = {
      name, corpus: "quay", direction: "annotation", system: `of-${name}`,
    };
    for (const [field, value] of Object.entries(fields)) form.append(field, String(value));
    form.append("file", new Blob([readFileSync(runFile)]), `${name}.trec`);
    await caller.send("POST", "/api/v1/runs", form);
  }
  const qrels = "originals";
  await caller.finished(
    await caller.call("post", "/api/v1/qrels", {}, { name: qrels, corpus: "quay", protocol: "first caption" }),
  );
  await caller.call("get", "/api/v1/runs/{run}/scores", { run: "first" }, undefined, { qrels });
  const runs = ["first", "second"];
  const compared = await caller.call("get", "/api/v1/comparisons", {}, undefined, {
    runs, qrels, measures: ["MRR"], rounds: 50,
  });
  await caller.finished(await caller.call("post", "/api/v1/systems/{system}/rank", { system: "spare" }, { name: "ranked", split: "test", protocol: "first caption" }));

  const opened = await caller.call("post", "/api/v1/campaigns", {}, {
    name: "afternoon", corpus: "quay", tasks: "entities", unpaid: true, images: 2,
  });
  if (opened.job) await caller.finished(opened.job);
  const campaign = { campaign: "afternoon" };
  await caller.call("post", "/api/v1/campaigns/{campaign}/pause", campaign, { reason: "Tea." });
  await caller.call("post", "/api/v1/campaigns/{campaign}/resume", campaign);
  const { state } = await caller.call("get", "/api/v1/campaigns/{campaign}", campaign);

  const campaign_settings = { trust: { qualification: false } };
  const pooled = { corpus: "quay", runs: ["good-annotation", "bad-annotation"], depth: 1, campaign_settings };
  await caller.call("post", "/api/v1/batch-plans", {}, pooled);
  await caller.finished(await caller.call("post", "/api/v1/batches", {}, { ...pooled, name: "pooled" }));
  await caller.call("get", "/api/v1/batches/{batch}", { batch: "pooled" });

  const job = await caller.finished(
    await caller.call("post", "/api/v1/campaigns/{campaign}/exports", { campaign: "quay" }, { format: "jsonl", unfinished: "include" }),
  );
  const archive = await (await caller.send("GET", `/api/v1/jobs/${job.number}/download`)).arrayBuffer();
  await caller.finished(
    await caller.call("post", "/api/v1/reports", {}, {
      name: "afternoon", qrels, runs, measures: ["MRR"], rounds: 50, resamples: 20,
    }),
  );
  const report = await (await caller.send("GET", "/api/v1/reports/afternoon/archive")).arrayBuffer();
  await caller.call("patch", "/api/v1/runs/{run}", { run: "second" }, { archived: true });
  return {
    systems: compared.systems.length,
    state,
    exported: archive.byteLength > 0,
    report: Buffer.from(report).toString("latin1", 0, 2),
  };
}

const [server, annotator, researcher, runFile] = process.argv.slice(2) as [string, string, string, string];
const kinds = await halfHour(new Caller(server, `Token ${annotator}`));
const done = await afternoon(new Caller(server, `Bearer ${researcher}`), runFile);
console.log(JSON.stringify({ kinds, ...done }));
