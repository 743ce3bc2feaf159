// Written by memory-fabric setup; `memory-fabric setup --client opencode --remove` deletes it.
// Hands OpenCode's events to memory-fabric's launcher in Claude Code's form.

import { spawn } from "node:child_process";

const LAUNCHER = "@LAUNCHER@";
const LIMIT_MS = 20_000;
const CALLS = { bash: "rules", edit: "rules", write: "rules" };

/** Run the launcher for one event; its reply, {} if it has none or fails. */
function replyTo(event, folder, ...args) {
  return new Promise((resolve) => {
    const env = { ...process.env, MEMORY_FABRIC_CLIENT: "opencode", CLAUDE_PROJECT_DIR: folder };
    const hook = spawn(LAUNCHER, args, { env, cwd: folder, timeout: LIMIT_MS });
    let out = "";
    hook.stdout.on("data", (chunk) => (out += chunk));
    hook.stdin.on("error", () => {});
    hook.on("error", () => resolve({}));
    hook.on("close", () => {
      try {
        resolve(JSON.parse(out || "{}"));
      } catch {
        resolve({});
      }
    });
    hook.stdin.end(JSON.stringify({ cwd: folder, ...event }));
  });
}

const contextOf = (reply) => reply.hookSpecificOutput?.additionalContext ?? "";
const textOf = (parts) =>
  parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n");
const inputOf = ({ filePath, ...args }) => (filePath ? { ...args, file_path: filePath } : args);

export const MemoryFabric = async ({ client, directory }) => {
  // The block of each session's start, which stands in its system prompt.
  const blocks = new Map();
  const fire = (name, session, fields = {}, ...args) =>
    replyTo({ hook_event_name: name, session_id: session, ...fields }, directory, ...args);

  async function begin(session, source) {
    blocks.set(session, contextOf(await fire("SessionStart", session, { source })));
  }

  async function lastMessage(session) {
    const found = await client.session.messages({ path: { id: session } });
    const said = (found.data ?? []).filter((message) => message.info.role === "assistant");
    return said.length ? textOf(said[said.length - 1].parts) : "";
  }

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (!blocks.has(sessionID)) await begin(sessionID, "startup");
      const prompt = textOf(parts);
      const text = contextOf(await fire("UserPromptSubmit", sessionID, { prompt }));
      if (!text) return;
      const id = `prt_${Date.now().toString(16)}${Math.random().toString(16).slice(2)}`;
      parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true });
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      const block = blocks.get(sessionID);
      if (block) system.push(block);
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      if (!(tool in CALLS)) return;
      const fields = { tool_name: tool, tool_input: inputOf(args), tool_use_id: callID };
      const reply = await fire("PreToolUse", sessionID, fields, CALLS[tool]);
      const decided = reply.hookSpecificOutput ?? {};
      if (decided.permissionDecision === "deny") throw new Error(decided.permissionDecisionReason);
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      if (tool !== "bash") return;
      const done = { stdout: result.output, exitCode: result.metadata?.exit ?? 0 };
      const fields = { tool_name: tool, tool_input: args ?? {}, tool_response: done };
      const reply = await fire("PostToolUse", sessionID, { ...fields, tool_use_id: callID }, "fixes");
      const text = contextOf(reply);
      if (text) result.output += `\n\n${text}`;
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await fire("PreCompact", sessionID, { trigger: "auto" });
    },
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id;
      if (!session) return;
      if (event.type === "session.idle") {
        await fire("Stop", session, { last_assistant_message: await lastMessage(session) });
      } else if (event.type === "session.compacted") {
        await begin(session, "compact");
      } else if (event.type === "session.deleted") {
        blocks.delete(session);
        await fire("SessionEnd", session, { reason: "other" });
      }
    },
  };
};
