// OpenCode's part: loads the plugin, fires one session's events, prints what the plugin changed.

const [file, directory, steps] = process.argv.slice(2);
const plugin = await import(file);
const [make] = Object.values(plugin);
let said = "";
const client = {
  session: {
    messages: async () => ({
      data: [{ info: { role: "assistant" }, parts: [{ type: "text", text: said }] }],
    }),
  },
};
const hooks = await make({ client, directory, worktree: directory });
const sessionID = "ses_1";
const shown = [];
for (const step of JSON.parse(steps)) {
  if (step.prompt) {
    const output = { message: { id: "msg_1" }, parts: [{ type: "text", text: step.prompt }] };
    await hooks["chat.message"]({ sessionID }, output);
    const system = { system: [] };
    await hooks["experimental.chat.system.transform"]({ sessionID }, system);
    shown.push({ parts: output.parts, system: system.system });
  } else if (step.tool) {
    try {
      await hooks["tool.execute.before"]({ ...step, sessionID, callID: "c" }, { args: step.args });
      const result = { title: "", output: step.output, metadata: { exit: step.exit } };
      await hooks["tool.execute.after"]({ ...step, sessionID, callID: "c" }, result);
      shown.push({ output: result.output });
    } catch (error) {
      shown.push({ refused: error.message });
    }
  } else {
    said = step.said ?? "";
    await hooks.event({ event: { type: step.event, properties: { sessionID } } });
    shown.push({});
  }
}
console.log(JSON.stringify(shown));
