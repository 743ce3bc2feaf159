"""The table of supported clients, each with its traits (`memory_fabric.client`). The rows of Codex
CLI (0.169.0) and Qwen Code (0.24.4) were checked with these programs; the others follow
documentation. Only Claude Code has a memory file into which this package writes records.
"""

from collections.abc import Mapping

from memory_fabric.client import CLAUDE_CODE, Client
from memory_fabric.models import CLIENT

# Claude Code's names for tools of Gemini CLI and Qwen Code. `replace` is an old name of `edit`.
GEMINI_TOOLS = {"run_shell_command": "Bash", "write_file": "Write", "replace": "Edit"}
GEMINI_TOOLS |= {"edit": "Edit", "read_file": "Read", "agent": "Agent", "task": "Task"}
GEMINI_TOOLS |= {"ask_user_question": "AskUserQuestion"}
# Cursor's names of these events are the same, but begin with a lower-case letter.
CURSOR_EVENTS = (
    *("SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("SubagentStart", "SubagentStop", "PreCompact", "SessionEnd"),
)


def _client(key: str, name: str) -> Client:
    client = Client(key, name, "The assistant", memory_file="", transcripts="", has_skills=False)
    return client._replace(mark={CLIENT: key}, instructions=("AGENTS.md",), summarises=False)


CLIENTS: Mapping[str, Client] = {
    client.key: client
    for client in (
        CLAUDE_CODE,
        # Codex rejects unknown keys in replies, and hooks cannot make it ask the user before a tool
        # call. Its `apply_patch` counts as an edit of the files in the patch.
        _client("codex", "Codex")._replace(
            transcripts="codex",
            tools={"apply_patch": "Edit", "spawn_agent": "Agent"},
            asks=False,
            project_variable="",
            instructions=("AGENTS.override.md", "AGENTS.md", "~/.codex/AGENTS.md"),
        ),
        _client("qwen", "Qwen Code")._replace(
            transcripts="qwen",
            tools=GEMINI_TOOLS,
            project_variable="QWEN_PROJECT_DIR",
            instructions=("QWEN.md", "AGENTS.md", "~/.qwen/QWEN.md", "~/.qwen/AGENTS.md"),
        ),
        _client("gemini", "Gemini CLI")._replace(
            events={"BeforeAgent": "UserPromptSubmit", "AfterAgent": "Stop"}
            | {"BeforeTool": "PreToolUse", "AfterTool": "PostToolUse"}
            | {"PreCompress": "PreCompact"},
            tools=GEMINI_TOOLS,
            fields={"prompt_response": "last_assistant_message"},
            form="gemini",
            asks=False,
            unheard=frozenset(("PreToolUse",)),
            project_variable="GEMINI_PROJECT_DIR",
            instructions=("GEMINI.md", "~/.gemini/GEMINI.md"),
        ),
        _client("cursor", "Cursor")._replace(
            events={f"{name[0].lower()}{name[1:]}": name for name in CURSOR_EVENTS}
            | {"beforeSubmitPrompt": "UserPromptSubmit", "afterAgentResponse": "Stop"},
            tools={"Shell": "Bash"},
            fields={"conversation_id": "session_id", "text": "last_assistant_message"}
            | {"error_message": "error", "tool_output": "tool_response"},
            form="cursor",
            asks=False,
            unheard=frozenset(("UserPromptSubmit", "PreToolUse", "SubagentStart")),
            project_variable="CURSOR_PROJECT_DIR",
            instructions=(".cursor/rules/*", ".cursorrules", "AGENTS.md"),
        ),
        _client("factory", "Factory")._replace(
            transcripts=CLAUDE_CODE.transcripts,
            tools={"Execute": "Bash", "Create": "Write"},
            project_variable="FACTORY_PROJECT_DIR",
        ),
        _client("codebuddy", "CodeBuddy")._replace(
            transcripts=CLAUDE_CODE.transcripts,
            project_variable="CODEBUDDY_PROJECT_DIR",
            instructions=("CODEBUDDY.md", "AGENTS.md"),
        ),
        # The plugin `clients/opencode_plugin.js` translates OpenCode's events into Claude Code's.
        _client("opencode", "OpenCode")._replace(
            tools={"bash": "Bash", "edit": "Edit", "write": "Write", "task": "Task"},
            asks=False,
            project_variable="",
        ),
    )
}
INSTRUCTION_FILES = tuple(dict.fromkeys(n for c in CLIENTS.values() for n in c.instructions))


def name_in(evidence: Mapping[str, object]) -> str:
    """Return the client's name from a record's evidence or a session's data; '' for Claude Code."""
    key = evidence.get(CLIENT)
    return client_of(key).name if isinstance(key, str) and key else ""


def client_of(key: str) -> Client:
    """Return the client with this key; an unknown client is assumed to work like Claude Code."""
    return CLIENTS.get(key) or _client(key, key)._replace(summarises=True)
