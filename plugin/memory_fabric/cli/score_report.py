"""The report of recall --explain: the parts of each score, and what a prompt would be given."""

from memory_fabric.cli import show
from memory_fabric.ids import short_id
from memory_fabric.models import Hit
from memory_fabric.recall.injection.explain import GIVEN, Explanation
from memory_fabric.recall.render import low_trust, replaced_by
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 200


def show_explanation(told: Explanation) -> None:
    """Print an explanation for people."""
    words = ", ".join(f"{word} ×{strength:g}" for word, strength in told.words)
    show.line(f"searched for: {words or 'names and filters only'}", "dim")
    for rank, hit in enumerate(told.answer.hits, 1):
        _show_hit(rank, hit, told.verdicts.get(hit.id, ""))
    if not told.answer.hits:
        show.line("Nothing found.")
    show.line(_as_a_prompt(told))


def _as_a_prompt(told: Explanation) -> str:
    if told.silence:
        return f"A prompt with these words would be given nothing: {told.silence}."
    if all(told.verdicts.get(hit.id) for hit in told.answer.hits):
        return "A prompt with these words would be given none of these."
    return "A prompt with these words would be given those marked so."


def _show_hit(rank: int, hit: Hit, verdict: str) -> None:
    known = hit.metadata
    kind = known.get("type") or known.get("entityType") or hit.source
    show.line(
        f"{rank}. {hit.score:.3f}  [{kind}, {hit.timestamp[:10] or 'undated'}] "
        f"{cut(one_line(hit.text), MAX_TEXT_CHARS)}",
        "bold",
    )
    about = [f"holds {', '.join(known.get('matched', ())) or 'none of the words'}"]
    about += [replaced_by(known)] if replaced_by(known) else []
    if known.get("trust") == "foreign":
        about.append(low_trust("foreign", known))
    about += [f"replaces {short_id(known['replaces'])}"] if known.get("replaces") else []
    about += ["stale"] if known.get("stale") else []
    about += ["said twice"] if known.get("cross_validated") else []
    about += ["names other known entities"] if known.get("cross_referenced") else []
    show.line(f"   {'; '.join(about)}", "dim")
    show.line(f"   relevance {hit.relevance:.3f} from {_summed(hit)}", "dim")
    show.line(f"   score {_score(hit)}", "dim")
    given = f"not given: {verdict}" if verdict else GIVEN
    show.line(f"   as a prompt: {given}", "dim")


def _summed(hit: Hit) -> str:
    parts = hit.metadata.get("parts", {})
    total = " + ".join(f"{name} {value:.3f}" for name, value in parts.items())
    if "similarity" in hit.metadata:
        total += f" + similarity of meaning {hit.metadata['similarity']:.3f}"
    return total or "nothing"


def _score(hit: Hit) -> str:
    parts = hit.metadata.get("score_parts", {})
    summands = [f"{name} {value:.3f}" for name, value in parts.items() if name != "times"]
    factor = parts.get("times", 1.0)
    total = " + ".join(summands)
    return f"({total}) × {factor:g}" if factor != 1.0 else total
