"""recall --explain: what each score is made of, and what a prompt would be given."""

from __future__ import annotations

from memory_fabric.cli import show
from memory_fabric.ids import short_id
from memory_fabric.models import Hit
from memory_fabric.recall.explain import GIVEN, Explanation
from memory_fabric.recall.render import low_trust, replaced_by
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 200


def show_explanation(told: Explanation) -> None:
    """Print it for a person."""
    words = ", ".join(f"{word} ×{strength:g}" for word, strength in told.words)
    show.line(f"searched for: {words or 'nothing but names and filters'}", "dim")
    for place, hit in enumerate(told.answer.hits, 1):
        _show_hit(place, hit, told.verdicts.get(hit.id, ""))
    if not told.answer.hits:
        show.line("Nothing found.")
    show.line(_as_a_prompt(told))


def _as_a_prompt(told: Explanation) -> str:
    if told.silence:
        return f"As a prompt it would bring nothing: {told.silence}."
    if all(told.verdicts.get(hit.id) for hit in told.answer.hits):
        return "As a prompt it would bring nothing of these."
    return "As a prompt it would bring what is marked so."


def _show_hit(place: int, hit: Hit, verdict: str) -> None:
    known = hit.metadata
    kind = known.get("type") or known.get("entityType") or hit.source
    show.line(
        f"{place}. {hit.score:.3f}  [{kind}, {hit.timestamp[:10] or 'undated'}] "
        f"{cut(one_line(hit.text), MAX_TEXT_CHARS)}",
        "bold",
    )
    about = [f"holds {', '.join(known.get('matched', ())) or 'none of the words'}"]
    about += [replaced_by(known)] if replaced_by(known) else []
    if known.get("trust") == "foreign":
        about.append(low_trust("foreign", str(known.get("author") or "")))
    about += [f"took the place of {short_id(known['replaces'])}"] if known.get("replaces") else []
    about += ["stale"] if known.get("stale") else []
    about += ["seen twice, by two witnesses"] if known.get("cross_validated") else []
    about += ["names other known things"] if known.get("cross_referenced") else []
    show.line(f"   {'; '.join(about)}", "dim")
    show.line(f"   relevance {hit.relevance:.3f} from {_summed(hit)}", "dim")
    show.line(f"   score {_score(hit)}", "dim")
    given = f"not given: {verdict}" if verdict else GIVEN
    show.line(f"   as a prompt: {given}", "dim")


def _summed(hit: Hit) -> str:
    parts = hit.metadata.get("parts", {})
    told = " + ".join(f"{name} {value:.3f}" for name, value in parts.items())
    if "similarity" in hit.metadata:
        told += f" + nearness of meaning {hit.metadata['similarity']:.3f}"
    return told or "nothing"


def _score(hit: Hit) -> str:
    parts = hit.metadata.get("score_parts", {})
    summands = [f"{name} {value:.3f}" for name, value in parts.items() if name != "times"]
    factor = parts.get("times", 1.0)
    total = " + ".join(summands)
    return f"({total}) × {factor:g}" if factor != 1.0 else total
