"""Forwarding: the receiver's address, and texts that wait or were refused."""

from __future__ import annotations

from memory_fabric.cli import forwarding_report
from memory_fabric.cli.doctor.finding import OK, WARNING, Check, Sight
from memory_fabric.forwarding import trigger
from memory_fabric.store.queues import spool


def receiver(sight: Sight) -> Check:
    """Check the receiver's address, and that the connection is encrypted."""
    url = sight.settings.forward_url
    if not url:
        return Check("forwarding", OK, "off: nothing leaves this machine")
    if trigger.is_plain(url):
        what = "the key and what is said" if sight.settings.forward_key else "what is said"
        told = f"to {url}, not encrypted: anyone on the network can read {what}"
        return Check("forwarding", WARNING, told, "Use an https address.")
    return Check("forwarding", OK, f"to {url}")


def spooled(sight: Sight) -> Check:
    """Report texts that wait to be forwarded, and those that the receiver refused."""
    settings, name = sight.settings, "forwarded"
    found = spool.backlog(settings.home, settings.forward_url)
    told = forwarding_report.troubles(settings, found, sight.now_s)
    quiet = settings.forward_url and not (found.rejected or found.dropped or found.elsewhere)
    if told and not (quiet and not forwarding_report.is_failing(found)):
        remedies = dict.fromkeys(t.remedy for t in told if t.remedy)
        return Check(name, WARNING, " ".join(t.text for t in told), " ".join(remedies))
    if found.waiting:
        return Check(name, OK, forwarding_report.describe_waiting(found, sight.now_s))
    return Check(name, OK, "nothing waits")
