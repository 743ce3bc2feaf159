"""Stop and PostCompact: spool the session's messages for the configured receiver."""

import time
from typing import Any

from memory_fabric import ids, ingest_protocol
from memory_fabric.clients.transcript import last_said
from memory_fabric.config import captures
from memory_fabric.events import Event
from memory_fabric.forwarding import trigger
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session import notice_texts
from memory_fabric.hooks.session.follow_transcript import keeper
from memory_fabric.recall.agent_domains import SESSION
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import spool
from memory_fabric.text import cut, without_controls, without_injected

MAX_MESSAGES = 10
BETWEEN = f"\n\n{ingest_protocol.BETWEEN}\n\n"
MAX_MESSAGE_CHARS, MAX_SUMMARY_CHARS = 24 << 10, 128 << 10
# Redact up to this many characters before the final cut, which could otherwise split a secret.
MAX_READ_CHARS = 256 << 10
MAX_BODY_BYTES = 1_000_000  # receivers accept at most a megabyte


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Spool the session's last messages, or the summary of a compaction, and start the sender after
    the reply. Replies with a notice if the receiver is new or the spool is full.
    """
    memory = context.memory
    if not captures(memory.settings) or event.agent_id:
        return None  # a subagent's messages do not belong to the session
    may_speak = event.name == "Stop"
    if may_speak:
        texts, mark = _messages(event, memory)
    else:
        from memory_fabric.hooks.session.checkpoint import summary_text  # imported for PostCompact

        mark = _fit(summary_text(event.text("compact_summary")), MAX_SUMMARY_CHARS)
        texts = [mark] if mark else []
    news = trigger.news(memory.settings) if may_speak else ""
    if texts:
        project, domain = memory.project.name if memory.project else "", context.domain
        body: dict[str, Any] = {
            "session_summary": BETWEEN.join(texts),
            "key_decisions": [],
            "domain": domain.name if domain.isolated else SESSION,
            "source_model": ingest_protocol.LEFT_OUT.source_model,
            "confidence": ingest_protocol.LEFT_OUT.confidence,
            "project": without_secrets(project),
            "session_id": event.session[:200],
            "idempotency_key": ids.id_for(f"{event.name}\n{event.session}\n{mark}"),
            "created_at": context.now,
        }
        while len(texts) > 1 and len(spool.encoded(body)) > MAX_BODY_BYTES:
            texts = texts[1:]
            body["session_summary"] = BETWEEN.join(texts)
        news = _keep(memory, body, may_speak=may_speak) or news
    notice = notice_texts.problem(news, memory.settings)
    return Reply(notice=notice, receipts=trigger.receipts(memory.settings))


def _messages(event: Event, memory: Memory) -> tuple[list[str], str]:
    """Return the assistant's last messages, redacted, and a text that identifies the turn's end."""
    last_messages = last_said(event.transcript_path, MAX_MESSAGES, keep=keeper(memory))
    last = event.text("last_assistant_message")
    texts = [text for _, text in last_messages]
    # Add the event's own message if the transcript lacks it: transcripts may lag or be missing.
    if last.strip() and not (texts and texts[-1].strip().endswith(last.strip())):
        texts.append(last)
    fitting = [text for raw in texts[-MAX_MESSAGES:] if (text := _fit(raw, MAX_MESSAGE_CHARS))]
    turn = event.prompt_id or (last_messages[-1][0] if last_messages else "")
    return fitting, f"{turn}\n{(last or (texts[-1] if texts else '')).strip()}"


def _fit(text: str, max_chars: int) -> str:
    clean = without_secrets(without_injected(text[:MAX_READ_CHARS]))
    return cut(without_controls(clean).strip(), max_chars)


def _keep(memory: Memory, body: dict[str, Any], *, may_speak: bool) -> str:
    """Spool `body`. If the spool is full, return a notice; if not `may_speak`, save the notice."""
    settings = memory.settings
    place = memory.project.id if memory.project else ""
    try:
        spool.add(settings.home, settings.forward_url, place, body, time.time())
    except spool.SpoolFull as full:
        memory.fail(f"forward: {full}")
        if spool.count_dropped(settings.home):
            remedy = "`/memory-fabric:memory sync` sends what waits and says what is wrong."
            news = f"{full.message} {remedy}"
            if may_speak:
                return news
            log.add(settings.home, news)
    except (OSError, TimeoutError) as error:
        memory.fail(f"forward: this turn is not forwarded, it could not be kept: {error}")
    return ""
