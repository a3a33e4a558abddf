// The page: sends a message, shows the parts of the answer as they come. All text goes in as text, never as HTML.

const conversation = document.getElementById("conversation");
const welcome = document.getElementById("welcome");
const form = document.getElementById("ask");
const input = document.getElementById("message");
const sendButton = document.getElementById("send");
const stopButton = document.getElementById("stop");

let threadId;
let running;

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

function show(node, parent = conversation) {
  parent.append(node);
  node.scrollIntoView({ block: "end" });
  return node;
}

async function showModel() {
  const status = document.getElementById("model");
  try {
    const { provider, model, reason } = await (await fetch("/health")).json();
    const offline = provider === "offline";
    status.textContent = offline
      ? `offline: no language model, words are matched to tools (${reason})`
      : `${provider} / ${model} (${reason})`;
  } catch {
    status.textContent = "the server does not answer";
  }
}

/** Shows one turn's parts. */
class TurnView {
  constructor(text) {
    show(element("div", "turn user")).append(element("div", "said", text));
    this.root = show(element("div", "turn agent"));
    this.calls = new Map();
    this.text = undefined;
    this.waiting = new Set();
  }

  handle(part) {
    if (part.type === "run_started") ({ threadId, runId: this.runId } = part);
    else if (part.type === "text") this.addText(part.text);
    else if (part.type === "text_done") this.text = undefined;
    else if (part.type === "tool_call") this.addCall(part);
    else if (part.type === "tool_progress")
      this.setState(part.callId, `running: ${JSON.stringify(part.data)}`);
    else if (part.type === "tool_result") this.finishCall(part);
    else if (part.type === "approval") this.askPerson(part);
    else if (part.type === "reset") this.dropText(part.reason);
    else if (part.type === "error") this.note(`${part.error.message} (${part.error.code})`, "bad");
    else if (part.type === "done") this.finish(part.result);
  }

  addText(text) {
    this.text ??= show(element("div", "said"), this.root);
    this.text.append(text);
    this.text.scrollIntoView({ block: "end" });
  }

  dropText(reason) {
    this.text?.remove();
    this.text = undefined;
    this.note(`The answer broke off and is asked for again: ${reason}`);
  }

  addCall({ callId, name, args }) {
    const box = element("details", "call");
    const summary = element("summary", "");
    const state = element("span", "state", "running…");
    summary.append(
      element("strong", "", name),
      " ",
      element("code", "", JSON.stringify(args ?? {})),
      " ",
      state,
    );
    box.append(summary);
    this.calls.set(callId, { box, state });
    show(box, this.root);
  }

  setState(callId, text) {
    const call = this.calls.get(callId);
    if (call) call.state.textContent = text;
  }

  /** The call waits: two buttons, and what they do to it. */
  askPerson({ callId, ticketId }) {
    const call = this.calls.get(callId);
    if (!call) return;
    this.setState(callId, "waits for you");
    this.waiting.add(ticketId);
    const buttons = element("span", "answer");
    for (const [decision, label] of [
      ["approved", "Allow"],
      ["denied", "Deny"],
    ]) {
      const button = element("button", decision, label);
      button.type = "button";
      button.addEventListener("click", (event) => {
        event.preventDefault();
        void this.answer({ callId, ticketId, decision, buttons });
      });
      buttons.append(button);
    }
    call.box.querySelector("summary").append(" ", buttons);
  }

  async answer({ callId, ticketId, decision, buttons }) {
    buttons.remove();
    const response = await post(`/approvals/${ticketId}`, { decision });
    if (!response.ok) this.note((await response.json()).error.message, "bad");
    this.setState(callId, decision === "approved" ? "allowed" : "denied");
    this.waiting.delete(ticketId);
    if (this.waiting.size === 0) await follow(this, "/chat/resume", { threadId, runId: this.runId });
  }

  finishCall({ callId, result, outcome, ms }) {
    const call = this.calls.get(callId);
    if (!call) return;
    const words = {
      succeeded: "done",
      failed: "failed",
      not_started: "did not run",
      unknown: "outcome unknown: it may have happened",
    };
    call.box.dataset.outcome = outcome;
    call.box.open = outcome !== "succeeded";
    this.setState(callId, `${words[outcome] ?? outcome}, ${ms} ms`);
    call.box.append(element("pre", "", JSON.stringify(result, null, 2) ?? ""));
  }

  finish({ status, stopReason, text }) {
    if (status === "cancelled") this.note("Stopped. This turn is not part of the conversation.");
    else if (status === "suspended") return;
    else if (status !== "completed") this.note(`Ended early: ${stopReason}.`, "bad");
    else if (text === "") this.note("The answer was empty.");
  }

  note(text, kind = "") {
    show(element("p", `note ${kind}`, text), this.root);
  }
}

/** Reads server-sent events and hands on the JSON of each. */
async function readParts(body, handle) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const frames = text.split("\n\n");
    text = frames.pop();
    for (const frame of frames) {
      const data = frame.split("\n").find((line) => line.startsWith("data: "));
      if (data) handle(JSON.parse(data.slice("data: ".length)));
    }
  }
}

async function ask(text) {
  welcome.hidden = true;
  await follow(new TurnView(text), "/chat/stream", { message: text, threadId });
}

function post(url, body, init = {}) {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...init,
  });
}

/** Shows what the server streams in answer to a request. */
async function follow(view, url, body) {
  running = new AbortController();
  setBusy(true);
  try {
    const response = await post(url, body, { signal: running.signal });
    if (response.ok) await readParts(response.body, (part) => view.handle(part));
    else view.note((await response.json()).error.message, "bad");
  } catch (error) {
    view.note(
      error.name === "AbortError"
        ? "Stopped. This turn is not part of the conversation."
        : "The connection was lost.",
      "bad",
    );
  } finally {
    setBusy(false);
  }
}

function setBusy(busy) {
  sendButton.hidden = busy;
  stopButton.hidden = !busy;
  if (!busy) input.focus();
}

function submit() {
  const text = input.value.trim();
  if (text === "" || !stopButton.hidden) return;
  input.value = "";
  input.style.height = "auto";
  void ask(text);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
input.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
});
input.addEventListener("input", () => {
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight}px`;
});
stopButton.addEventListener("click", () => running?.abort());
document.getElementById("reset").addEventListener("click", async () => {
  running?.abort();
  const response = await post("/reset", { threadId });
  ({ threadId } = await response.json());
  for (const turn of document.querySelectorAll(".turn")) turn.remove();
  welcome.hidden = false;
  input.focus();
});
for (const button of document.querySelectorAll(".try"))
  button.addEventListener("click", () => void ask(button.textContent));

void showModel();
