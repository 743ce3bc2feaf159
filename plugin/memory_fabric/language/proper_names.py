"""Names of people, companies and places, and the words around them that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence

# Endings of companies' names, with capitals.
SUFFIXES = frozenset(
    """Corp Corporation Inc Incorporated Ltd Limited LLC LLP PLC Plc GmbH AG KG OHG SE SA SAS
    SARL SRL SpA BV NV AB Oy Oyj ApS KK Pty Pte Holding Holdings Bank University Universität
    Consulting Ministry Hospital Airlines Insurance""".split()
)
COMPANY_CUES = frozenset(
    """customer customers client company supplier vendor employer startup firm competitor
    kunde firma""".split()
)
PERSON_CUES = frozenset(
    """by ask asks asked tell tells told ping thank thanks cc mr mrs ms dr prof herr frau user
    colleague manager boss cto ceo cfo teammate coworker author assignee reviewer maintainer
    von""".split()
)
SAYING = frozenset(
    """says said found finds told tells wants wanted prefers preferred decided approved
    reviewed asked insists thinks thought wrote reported noticed""".split()
)
GIVEN = frozenset(
    """aaron abdul abigail adam adrian ahmed aisha alan albert alejandro alex alexander
    alexandra alexei ali alice alicia amanda amelia amit amy ana anastasia anders andrea
    andreas andrew andy angela anil anita anjali ann anna anne annabel antoine antonio anton
    arjun arthur astrid barbara beatrice ben benjamin bernd bob boris brandon brian bruno
    camille carl carla carlos carmen caroline catherine charles charlotte chen chris christian
    christina christine christopher claire claudia colin daniel daniela david deborah deepak
    denis diana diego dieter dimitri dmitri dominic donald doris dorothy eduardo edward elena
    eleanor elias elisabeth elizabeth emily emma eric erik ernst esther eva evelyn fatima
    felix fernando florian francesca francesco francois frederik fritz gabriel george gerd
    gerhard giovanni giulia gregory guillaume gustav hannah hans harald harold hassan heidi
    heike heinrich helen helena henrik henry hiroshi holger hugo ibrahim igor ines ingrid
    irina isabel isabella ivan jacob jacques jakob james jan jane janet jennifer jens jeremy
    jean jerome jessica jessie jim joachim joan joanna joao joe johan johanna john johannes
    jonas jonathan jorge jose josef joseph joshua juan juergen julian julien jürgen kai karen
    karin karl katarina kate katherine kathrin kenji kevin khalid klaus konrad kumar kunal
    lars laura laurent lena leon leonardo lewis liam lina linda lisa louis louise luca lucas
    lucia luis luisa lukas magnus manfred manuel marc marco marcus margaret maria marie marina
    mario marion markus martin martina matteo matthew matthias maurice mehmet mei melanie
    michael michaela michel miguel mikael mohamed mohammed monica monika muhammad nadia nancy
    natalia natalie nathan nicolas nicole nikita nikolai nina nora oleg oliver olivia olga
    omar oscar otto pablo pamela patricia patrick paul paula pavel pedro peter petra philip
    philipp pierre pieter priya rachel rafael rahul rainer rajesh ralf ravi rebecca renate
    ricardo richard robert roberto roger roland ronald rosa ruth ryan sabine sally samantha
    samuel sandra sanjay sarah sebastian sergei sergey sergio sharon sigrid silvia simon sofia
    sonja sophia sophie stefan steffen stephanie stephen steve steven sunil susan susanne sven
    svetlana takashi tanja tatiana teresa theodor theresa thomas tim timothy tobias tom tomas
    tyler ulrich ulrike ursula uwe valentina vera victor victoria viktor vikram vincent
    vladimir walter werner wilhelm william wolfgang xavier yasmin yusuf yuki yuri yvonne
    zoe""".split()
)
# Given names that are also words: names only if the context shows it.
AMBIGUOUS = frozenset(
    """art bill chase dawn dean drew faith frank gene grace grant guy hope jack joy mark max
    may miles nick pat ray rich rob rose sue will""".split()
)
PLACES = frozenset(
    """afghanistan algeria argentina armenia australia austria bangladesh belgium bolivia
    brazil bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus denmark
    ecuador egypt england estonia ethiopia finland france germany ghana greece hungary iceland
    india indonesia iran iraq ireland israel italy japan kazakhstan kenya kuwait latvia
    lebanon lithuania luxembourg malaysia mexico morocco nepal netherlands nigeria norway
    pakistan peru philippines poland portugal qatar romania russia scotland serbia singapore
    slovakia slovenia spain sweden switzerland syria taiwan thailand tunisia turkey uganda
    ukraine uruguay venezuela vietnam wales deutschland frankreich österreich schweiz españa
    italia amsterdam ankara athens atlanta auckland bangalore bangkok barcelona beijing beirut
    belgrade bengaluru berlin bogota boston bratislava brisbane brussels bucharest budapest
    cairo calgary chennai chicago cologne copenhagen dallas delhi denver detroit dubai dublin
    düsseldorf edinburgh frankfurt geneva glasgow hamburg hanoi helsinki houston hyderabad
    istanbul jakarta jerusalem johannesburg karachi kiev kyiv köln lagos leipzig lima lisbon
    ljubljana london lyon madrid manchester manila marseille melbourne miami milan minsk
    montreal moscow mumbai munich münchen nairobi naples osaka oslo ottawa paris philadelphia
    prague pune riga rome rotterdam santiago seattle seoul shanghai shenzhen sofia stockholm
    stuttgart sydney taipei tallinn tehran tokyo toronto tunis vancouver vienna vilnius warsaw
    wien zagreb zurich zürich""".split()
)
LONG_PLACES = frozenset(
    """new york|san francisco|los angeles|united states|united kingdom|hong kong|buenos aires|sao
    paulo|são paulo|new zealand|south africa|saudi arabia|south korea|tel aviv|kuala lumpur|cape
    town|mexico city|rio de janeiro|new delhi|palo alto|mountain view|silicon valley|las
    vegas|washington dc""".replace("\n    ", " ").split("|")
)


def kind_of(name: Sequence[str], before: Sequence[str], after: str) -> str:
    """Return `person`, `organisation` or `place` for a capitalised name, or '' if it is neither.

    `before` are the words before the name, nearest first, and `after` is the next one, in lower
    case.
    """
    lower = [word.lower() for word in name]
    cue = before[0] if before else ""
    if lower[0] in PLACES or " ".join(lower[:2]) in LONG_PLACES:
        return "place"
    if len(name) > 1 and name[-1].rstrip(".") in SUFFIXES:
        return "organisation"
    if lower[0].split("-")[0] in GIVEN:
        return "person"
    if cue in COMPANY_CUES or cue == "at":
        return "organisation"
    is_called = cue in PERSON_CUES - {"by"} or (after in SAYING and not name[0].isupper())
    return "person" if is_called else ""
