"""Ordinary English words of technical prose, in their base form, which are no names.

Words that are frequent in the documentation of Python and of this project, and lower case in the
public domain list SCOWL. Only read when a statement is made global.
"""

from __future__ import annotations

WORDS = frozenset(
    """
    abandoned abbreviated abbreviating abbreviation ability able abort about above abruptly
    absence absent absolute absolutely abstract abstraction abuse accelerate accelerator accent
    accept acceptable access accessibility accessible accident accidental accidentally
    accommodate according accordingly account accumulate accuracy accurate accurately achieve
    acknowledged acknowledgment acquire across act action activate active actively activity
    actual actually acute adapt adapter adaptive add addition additional additionally address
    adequate adhere adjacent adjust adjustment administered administrative administrator
    admonition adobe adoption advance advantage advertise affect after afternoon afterward again
    against age agent ago agree agreement ahead aid aimed aims akin alarm alert algebraic
    algorithm alias align alignment alike alive all allocate allocation allow allowable
    allowance almost alone along alongside alpha alphabet alphabetic alphabetical alphabetically
    alphanumeric already also alter alterations alternate alternately alternative although
    altogether always ambiguity ambiguous among amongst amount amp an analogous analysis analyze
    anarchists ancestor anchor ancient and anew angle animation annotate annotation annoying
    anonymous another answer any anybody anyone anything anyway anywhere apart apostrophe
    apparent apparently appear appearance append applicable application apply appreciated
    approach appropriate appropriately approximate approximately approximation apt arbitrarily
    arbitrary arc arch architecture archive are area arena argument arise arithmetic around
    arrange array arrive arrow article artificial as ascending aside ask aspect assembled
    assembly assert assertion assign assignment assist assistant associate assume assumption
    assure asterisk asynchronous asynchronously at atom atomic attach attachment attack attempt
    attention attribute audience audio audit auditing augment authenticate author authority
    authorization authorized auto automatic automatically automation auxiliary avail
    availability available average avoid await awakened aware away awkward awoken back backend
    background backlog backoff backslash backspace backtrack backup backward bad badly bail
    balanced banner bar bare barrier base baseline bash basic basically basis basket batch be
    bearer bears became because become been before beforehand began begin beginning behalf
    behave behavior behaviour behind being believe belong below benefit beside best beta better
    between beware beyond big bigger bin binary bind bird bit bitmap black blank blessing
    blindly blink blob block blow blue blurb board body bogus bold bomb bondage boo book
    bookkeeping boost bootstrap border boring borrowed both bother bottom bound boundary box
    brace bracket branch break breakpoints breath brevity brief briefly bright bring broadcast
    broke broken brought browse bubble bucket budget buffer bug buggy build builder built bump
    bunch bundle bureaucracy burlap burn bus business busy but button by bypass byte cache
    cadence calculate calculation calendar calibration call callable caller came camera can
    canary cancel cancellation cancelled cancelling candidate cannot canonical canvas cap
    capability capable capacity capital capitalize caption capture card care careful carefully
    carriage carry case cast cat catalog catch category caught cause caution ceiling cell center
    central century certain certainly certificate chain challenge chance change channel chaos
    char character characteristic charge cheap check checker checkout checkpoint child children
    choice choose chop chose chosen chrome chromium chunk churn cipher circle circuit circular
    circumflex circumstance claim clamp clang clarify clarity clash class classic clause clean
    cleanly clear clearer clearly clever cleverly click client clinic clip clipboard clock
    clockwise clone close closely closer closest closure clutter coarse code coefficient coerce
    coercion coffee cohort coincidence col collapse collect collection collector collision colon
    color colorful colour column comb combination combine come comma command comment commercial
    commit committed committing common commonly communicate communication compact compaction
    comparable compare comparison compatibility compatible compensate compilation compile
    compiler complain complaints complement complete completely completeness completer
    completion complex complexity compliance compliant complicated complication comply component
    compose composite compound comprehension comprehensive compress compression compromise
    computation compute computer concatenate concatenation conceivable concept conception
    concerned concerning conclusion concrete concurrency concurrent concurrently condensed
    condition conditional confidence confidential configurable configuration configure confined
    confirm confirmation conflict conform confuse confusion conjunction connect connection
    connector consecutive consent consequence consequently conservative consider considerable
    considerably consideration consist consistency consistent consistently console constant
    constrained constraint construct construction consult consume consumer consumption contact
    contain container content contention context contextual contiguous continuation continue
    continuous contracts contradicts contrary contrast contribute contributions contributor
    control controllable controlled controller controlling convenience convenient convention
    conversation conversion convert converter cooked cookie cool cooperation coordinate cope
    copy copyright core corner correct correction correctly correctness correlation correspond
    corrupt cost could count counter counterpart country couple course courtesy cover coverage
    crap crash create creation creator credential criteria criterion critical crop cross crude
    crypt cryptic cue cumulative cur curl curly currency current currently curses cursor curve
    custom customer customization customize cut cute cycle cyclic daemon damage dance dangerous
    dangling dark dash dashboard data database date day daylight dead deadline deadlock deal
    dealt debounce debug debugged debugger debugging decent decide decimal decision declaration
    declare decode decoder decomposition decorate decoration decorator decouple decreases
    dedicated deemed deep deeper deepest deeply default defect defer deferred define definitely
    definition definitive deflate degrade degraded degrees delay delegate delegation delete
    deletion deliberately delimited delimiter delimiting deliver delivery delta demand
    demonstrates demonstration denominator denote density deny departs depend dependence
    dependency dependent deploy deployment deprecate depth derivative derive descend descendant
    describe description descriptor design designated desirable desired desktop despite
    destination destroy destruction detached detail detect detection detector determine
    deterministic develop developer development deviation device diagnostic diagram dialect
    dialog dialogue diameter dictates dictionary did die died differ difference different
    differently difficult difficulty dig digest digit dim dimension dimensional direct direction
    directive directly directory dirty disable disallow disappear disaster discard discipline
    disclaimer disconnect discontent discouraged discover discovery discrete discussed
    discussion disjoint disk dispatch display disposition distance distinct distinction
    distinguish distribute distribution distributors ditch ditto diverges divide dividend
    divisible division do doctor document documentation does doing dollars domain don done door
    dot dotted double doubly down downstream downtime downwards draft dragging drain draw drawn
    drive driven driver drop dropped dropping dry dual dubious duck due dumb dummy dump
    duplicate duplication durable duration during dynamic dynamically each eager eagerly ear
    earlier earliest early ease easier easily east easy eat echo edge edit editor effect
    effective effectively efficiency efficient efficiently effort egg eight either elapsed
    elegant element eligible eliminate ellipses ellipsis elliptic else elsewhere email embed
    embedded embedding emission emit emitted emitting empty emulate emulation enable
    encapsulated encapsulates enclosed enclosing encode encounter encouraged encourages encrypt
    encrypted encryption end endless endorse endpoint enforce engine engineering enhance
    enhancements enormous enough ensure enter entire entirely entirety entity entropy entry
    enumerate enumeration envelope environment environmental ephemeral epilog epilogue episodes
    epoch epsilon equal equality equally equivalence equivalent equivalently erased erases err
    erroneous erroneously error escalate escape esoteric especially essential essentially
    establish estimate evaluate evaluation even evenly event eventual eventually ever every
    everybody everyone everything everywhere evict evidence evil exact exactly examination
    examine example exceed except exception exceptional excess exchange exclamation exclude
    exclusion exclusive exclusively excuse executable execute execution executor exercise
    exhaust exhaustion exhaustive exist existence exit exotic expand expansion expect
    expectation expense expensive experiment experimental expiration expire expiry explain
    explanation explicit explicitly explore exponent exponential export exporter expose express
    expression extend extension extensive extensively extent external externally extra extract
    extraction extraneous extreme extremely eye eyeballs fabric face facility fact factor
    factorial factory fail failover failure fair fairly faithfully fake fall fallback false
    familiar family famous fancier fancy far fashion fast faster fastest fat fatal fault favor
    favour fear feasible feature fed fee feed feedback feeder feel fence fetch few fewer
    fiddling field fig figure file fill filler filter final finalize finally find fine finger
    fingerprint finish finite fire first fish fit five fix fixture flag flat flatten flavor
    flaws flexibility flexible flipped float floor flow flush focus fold folder folks follow
    font fooled for forbid forbidden force forcibly forecast foreground foreign forever forgery
    forget forgetting forgot forgotten fork form formal format formatted formatting former
    formerly formula forth forward found four fourth fraction fractional fragile fragment frame
    framework free freely freeze frequency frequent frequently fresh friendly friends frighten
    from front frontend frozen fudge fulfill full fully fun function functional functionality
    functionally funny furnished further future gain games gamma gap garbage gateway gather gave
    general generally generate generation generator generic generous geometric geometry get
    getting give given glib global globally glorious glue gnome go goal gobble goes going gold
    gone good got gotten governing grab gracefully gradually grammar grandchild grant granular
    graph graphics grave great greater greatest greedy green greet grey grid ground group
    grouper grow grown growth guarantee guard guardrail guess guidance guide gutter hack had
    half halfway ham hand handful handle handler handover handshake handy hang happen happily
    happy hard harder hardware harmless harmonic harness has hash hatch have he head header
    healthy heap heard heart heavily heavy height held hello help helper helpful hence here
    hereby heuristic hexadecimal hidden hide hierarchical hierarchy high higher highest
    highlight highly him hint his historical historically history hit hitting hold home honor
    hook hop hope hopefully horizontal horizontally horse host hot hotfix hour house how however
    hub huge hum human hundred hunting hurt hybrid hydration hyphen hyphenated hypothesis
    hypothetical icon idea ideal ideally idempotent identical identically identifiable
    identification identifier identify identity idiom idle if ignore illegal illustrates
    illustration image imaginary immediate immediately imp impact impedance implement
    implementation implicit implicitly imply import important importantly impossible improperly
    improve improvement in inappropriate incident include inclusion inclusive incoming
    incompatible incomplete inconsistent incorporated incorrect incorrectly increase increment
    incremental incur indeed indefinitely indent indentation independent independently index
    indicate indication indicator indices indirect indirectly individual individually inducing
    inefficient inexact infer inferred infinite infinitely infinity infix influence info inform
    information informational informative infrastructure ingest inherently inherit inheritance
    initial initialization initialize initially inject injection inner innermost input insane
    insecure insensitive insert insertion inside insist insofar inspect inspection inspired
    install installation instance instead instructed instruction insufficient intact intake
    integer integral integrated integration integrity intelligence intend intensive intent
    intention intentional intentionally interact interaction interactive interactively intercept
    interest interface interfere interior intermediary intermediate internal internally interned
    internet interning interpolation interpret interpretation interpreter interrupt intersection
    interspersed interval intervening intimate into intrinsic introduce introduction invalid
    invalidate invariant invented inverse inverted invisible invocation invoice invoke involve
    irrational irrefutable irrelevant is isolate isolation issue it italic item iterate
    iteration its itself jar job join journal journey judged jump junctions junk just
    justification justify keep kept kernel key keyboard keyword kicks kid kill kind kinda
    kingdom know knowledge known label labelled lack lambda lame language large largely larger
    largest last late latency later latest latex latitude latter launch launcher law layer
    layout lazy lead leader leaf leak leap learn lease least leave led ledger left leftmost
    legacy legal legitimate length lenient less lesser lesson let letter letting level lexical
    liable library licence license lie life lifecycle lifetime ligature light lightweight like
    likelihood likely likewise limit limitation line linear linearly linefeed link linkage
    linker lint linter linting list listen listener literal literally little live load loadable
    loader local locale localize locally locate location lock log logarithm logged logger
    logging logic logical logically logo lone long longer longest longitude look loop loose
    loosely lose loss lost lot low lower lowest luck lying machine machinery made magic
    magnitude mail mailbox mailing main mainly maintain maintainers maintenance major make
    malformed malicious man manage management manager mandate mandatory mangled manifest
    manipulate manipulation manner manual manually many map mapped mapping margin mark marker
    marketing marshal marshalled marshalling mask master match material math mathematical matrix
    matter maximal maximize maximum may maybe mayhem me mean meaningful meant meanwhile measure
    measurement mechanism media median meet megabyte member membership memo memoize memory mend
    mention menu merchant merely merge mess message messy met method metric microsecond
    microservice middle middleware midnight midst might migrate migration mild milestone million
    millisecond mime mimic mimicking mind minimal minimize minimum minor minus minute mirror
    miscellaneous misleading mismatch misrepresented miss misspellings mistake mitigate mix mock
    mod modal mode model moderately modern modification modifier modify modular module moment
    monetary monitor monkey monorepo month more most mostly mount mouse move movement much multi
    multiple multiplication multiply music must mutate mutation mutual mutually my naive name
    narrow narrower nasty native natural naturally nature navigate near nearest nearly neatly
    necessarily necessary need negate negation negative negotiate negotiation neither nest net
    network never new newer newest newly next nice nicely nicer nightmare nine no nobody node
    noise noisy nominal non none noon nor normal normally north not notation note notebook
    nothing notice noticeable notification notify notion now nowadays nowhere nudge null number
    numeral numerator numeric numerical numerically nurture obey object obscure observability
    observation observed obsolete obtain obvious obviously occasionally occupied occur occurred
    occurrence occurring octal odd of off offending offer official offline offset often okay old
    older oldest omit omitted omitting on onboard onboarding once one only onto onward opaque
    open opener operand operate operation operator opinion opinionated opportunity opposed
    opposite opt optimal optimise optimization optimize option optional optionally or
    orchestrate order ordinarily ordinary ore organizations organized orient orientation origin
    original originally originate other otherwise ought our ourselves out outage outcome outer
    outermost outgoing outline output outside outsider over overall overflow overhead overkill
    overlap overlapped overlapping overload overridden override overview overwrite overwritten
    own owner ownership pack package packet pad padded padding page pager paginate pagination
    paint pair palette pan pane panel paper paragraph parallel parameter paraphrase parent
    parentheses parenthesis parse parser part partial partially particular particularly
    partition partly party pass password past paste patch path pattern pause pay payload peak
    peek peer pen penalty pending penguin people pep per percent percentage percolate perfect
    perfectly perform performance perhaps period periodic periodically permanent permanently
    permission permissive permit permitted permutation persistent persists person persona
    perspective pertaining pet phase phone phrase physical pick pickle pictures piece pilot pin
    pinned pipe pipeline place placement plain plainly plane planned platform plausible play
    playbook playful please plural plus pocket point pointer pointless policy poll pollute
    polygon polynomial pool poor poorly pop popped popping popular populate population port
    portability portable portion position positional positive possibility possible possibly post
    postal postmortem postpone potential potentially power powerful practical practice preamble
    precede precedence precise precisely precision predecessor predefined predicate predictable
    prefer preference preferred prefix preliminary prelude prematurely preparation prepare
    prerequisite presence present presentation preservation preserve press presumably presume
    pretend pretty prevent preview previous previously primarily primary prime primitive
    principle print printable prior prioritise prioritize priority privacy private privileges
    probability probable probably problem problematic procedure proceed process processor
    produce producer product production profile program programmer programming progress
    progressively prohibit project promote prompt proof prop propagate propagation proper
    properly property proportional proposal proposed prose prospective protect protection
    protocol prototype prove provide provider provision provisional provisionally provoke proxy
    prune pseudo public publication publicity publish pull pulse pump punch punctuation punting
    pure purely purge purported purpose push put putting python quadratic qualifier qualify
    quantity query question questionable queue quick quickening quickly quiet quirk quit quite
    quitting quota quotation quote quotient race radio radius railroad raise ran random randomly
    randomness range rank rapidly rare rarely rarity raster rate rather ratio rational rationale
    raw reach read readability readable reader ready real reality really realm reap reason
    reasonable reasonably rebase rebind rebuild rebuilt recall receipt receive receiver recent
    recently recipe recipient reciprocal reclaim recognizable recognize recommend recompiled
    reconcile reconnect reconstruct record recover recovery recreate recreation rectangle
    recurring recursion recursive recursively recycled red redefine redefinition redirect
    redirection redistribute redistribution redo reduce reduction redundant refactor refer
    reference referred referring refine reflect reflection reformatted refresh refund refuse
    regard regardless regenerate region register registration registry regression regular
    rehearse reject rejection related relating relation relationship relative relatively relax
    release relevance relevant reliability reliable reliably relief reload relocated rely remain
    remainder remediate remedy remember remote removal remove rename render renewal reopen
    repair repeat repeatable repeatedly repetition repetitive replace replacement replay replica
    reply report repository represent representation reproduce request require requirement
    reschedule resembles reserve reservoir reset resetting resilience resolution resolve
    resolver resort resource respect respective respectively respond response responsibility
    responsible rest restart restore restrict restriction restrictive result resume resurrect
    retain retention retreat retrieval retrieve retro retry return reuse rev revealed reveals
    revenue reverse reversible reversion revert review revise revision revoke rewind rewrite
    rewritten rich rid right rightmost ring risk road roadmap roaming robots robust rocky role
    roll rollback rollout roman room root rotate rotation rough roughly round route routine row
    rpm ruby ruff rule run runbook runner running rushing safe safeguard safely safety said sake
    salt same sample sandbox sane sanitize sanity sash sat satisfy saturation save saw say
    scalar scale scan scanned scanner scanning scenario scenes schedule scheduler schema scheme
    scientific scope score scraping scratch screen screw script scroll search sec second
    secondary secret section secure security see seed seek seem seen segment segmentation
    segregated select selection selective selector self sell semantic semantically semicolon
    send sender sense senseless sensible sensibly sensitive sensitivity sent sentence separate
    separately separation separator sequence sequential serial series serious serve server
    serverless service session set settable setter setting settle seven several severity shadow
    shall shallow shape shard share sharp shear shelf shell shelve shift shipped shop short
    shortened shorter shortest shorthand shortly shot should shout show shown shrinking shut
    shutdown shutting sibling sic side sighting sigma sign signal signalled signature signer
    significant significantly signify silence silent silently silly similar similarity similarly
    simple simpler simplest simplicity simplify simply simulate simultaneous simultaneously sin
    since single sink sit site situation six size skill skip skipped skipping slash slate slave
    sleep slice slide slight slightly slope slot slow slower slowest slowly small smaller
    smallest smart smarter smoke snap snapshot sneaky snippet so sock socket soft software sole
    solely solid solution solve some somebody someday somehow someone something sometime
    somewhat somewhere soon sophisticated sort sound source south space span spanning sparse
    spawn speak special specialized specially specific specifically specification specifier
    specify speed spell spent spirit spit spite split splitting spot spread sprint spurious spy
    square squeeze stability stable stack stage staging stakeholder stale stamp stand standard
    standup star starred start state stateful stateless statement static statistics status stay
    steal stem step stepping stereo stick sticky still stock stood stop stopped stopping
    stopwatch storage store story straight strange strangers strategy stray stream strengthens
    stretch strict stricter strictly strides string stringent strip stripped stripping strong
    stronger strongest strongly structural structure stub stuck stuff style sub subject submit
    submitted subnormal subroutine subscriber subscript subscription subsequent subsequently
    subset substantial substitute substitution subsystem subtle subtract subtraction succeed
    success successful successfully successive successively successor such suck suffer
    sufficient sufficiently suffix sugar suggest suggestion suit suitable suite sum summarize
    summary summer sun super superscript superseded supplier supply support suppose suppress
    sure surely surer surprising surrounded surrounding survey survive suspect suspend
    suspicious swallow swap switch symbol symbolic symmetry synchronize synchronous synonym
    synopsis syntactic syntactically syntax synthesize system tab table tack tag tagged tail
    take taken talk tangent tape tar target task teach team teammate technical technically
    technique technology tee tell template temporarily temporary tempting ten tenant tend term
    terminal terminate termination terminator terrible test testable text textual textually
    texture than thank that the thee their them theme themselves then theoretically theory there
    thereafter thereby therefore thereof these theta they thickness thin thing think third this
    thorough those thou though thought thousands thread three threshold throttle through
    throughout throughput throw thrown thus thy tick tie tied tier tilde till time timebox
    timeout timer timezone tiny tiring title to today together toggle token told tolerance
    tolerant tolerate too took tool toolkit top topic torn toss total totally touch tournament
    toward trace traceability track traditional traffic trailer trailing training transaction
    transcript transfer transferred transform transformation transient transition translate
    translation transmission transmit transmitted transparent transparently transport trap
    trapped trash trashcan travel traverse treat treatment tree triage trick tricky tried tries
    trigger trim trimmed trip triple triplet trivial trouble true truly truncate truncation
    trunk trust truth try tune tunnel turn turtle tweak twice two type typical typically ugly
    ultimately unable unaffected unaltered unambiguous unambiguously unanswerable unattended
    unauthorized unavailable unblock unchanged unclear uncommon unconditional unconnected
    undefined under underflow underline underlying underneath underscore understand understood
    undetected undo undocumented undone unequal unexpected unexpectedly unfinished unfolded
    unfolding unfortunate unfortunately unified uniform uniformly uninformative union unique
    uniquely uniqueness unit universal universally unknown unlabeled unless unlike unlikely
    unlimited unlock unmodified unnamed unnecessarily unnecessary unpack unpredictable
    unprintable unqualified unread unreadable unrecognized unrelated unsafe unset unsigned
    unspecified unsupported until untouched unusable unused unusual unwanted unwind unwrap
    unwrapped up update upgrade upkeep upload upon upper upstream uptime upward urn us usability
    usable usage use used useful useless user using usual usually utility utilize valid validate
    validation validity value valueless van vanished variable variance variant variation variety
    various vary vector velocity vendor verb verbatim verbose verbosity verification verify
    version versus vertical vertically vertices very via vice view viewer violate violation
    virtual visibility visible visit visitor visual vital voice void volatile volume vulgar
    vulnerable wait waiter wake walk wall want warm warn warranty was waste watch way we weak
    weakly web webhook wed week weekday weight weird welcome well went were west what whatever
    wheel when whence whenever where whereas whereby wherever whether which whichever while
    whiskys white who whoever whole whom whose why wide wider width wild will win wind window
    wink winner winning winter wire wish witch with within without witness woken won wonder wont
    word work worker workload workshop world worry worse worst worth worthwhile would wrap
    wrapped wrapper wrapping writable write writer written wrong wrongly wrote xxx yanked year
    yearly yellow yes yet yield you your yourself zero zip zipped zombie zone zoom
    """.split()
)


def is_ordinary(word: str) -> bool:
    """Return True for a word of the list, also in the plural or with an ending of a verb."""
    return any(
        word.endswith(ending) and word[: len(word) - len(ending)] in WORDS
        for ending in ("", "s", "es", "d", "ed", "ing")
    )
