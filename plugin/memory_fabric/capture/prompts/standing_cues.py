"""English cues that a prompt holds something for later sessions: kind, weight, words, expression.

The words are a substring gate: an expression runs only on a sentence that holds one of them. A
sentence is heard when the weights of its cues reach `detector.ENOUGH`.
"""

# ruff: noqa: E501 - one cue a line

from __future__ import annotations

from collections.abc import Iterable

Cue = tuple[str, float, str, str]

# What opens a clause: an imperative after it is said to the assistant.
_OPENS = r"(?:^|[,;:.(—–-] ?|\b(?:and|but|so|please|also|then|just|now|ok|okay|anyway|again)[,:]? )"
_DO = (
    "add build call change commit create delete deploy edit ever force forget format go include "
    "install let make mention merge mess mix modify move overwrite push put re remove run save "
    "start stop switch test touch try update use worry write"
).split()
_CHOOSE = (
    "not,allow,use,keep,go with,go for,stick,stay,call,name,"
    "make it,make this,make that,make sure,only,just use,just keep,just have,just go,leave,drop,"
    "avoid,skip,start with,treat,assume,have,put,separate"
).split(",")


def _each(openings: str, words: Iterable[str]) -> str:
    return "|".join(f"{opening} {word}" for opening in openings.split("|") for word in words)


CUES: tuple[Cue, ...] = (
    # rules
    ("rule", 2, " never | always ", r"\b(?:must|should|shall|to|please|you|we|i'd|will|can) (?:never|always)\b"),
    ("rule", 2, "never |always ", _OPENS + r"(?:never|always) (?!mind\b|the\b|work|get|show|fail|used\b|read\b|called\b|reached\b)\w+"),
    ("rule", 2, "from now on|going forward|at all times", ""),
    ("rule", 2, "in the future|in future", r"^in (?:the )?future,|\b(?:stop|don't|do not|never|always|please|avoid|you)\b.{1,80}\bin (?:the )?future\b"),
    ("rule", 2, "every time|each time|whenever", r"\b(?:every time|each time|whenever) (?:you|we|there) "),
    ("rule", 2, _each("don't|do not|dont", _DO), _OPENS + rf"(?:don't|do not|dont) (?:{'|'.join(_DO)})"),
    ("rule", 2, "don't want|do not want|dont want", r"\b(?:i|we) (?:really |just |also )?(?:don't|do not|dont) want\b"),
    ("rule", 2, "must not|must never|must always|must only|must remain|must stay|must be|must have|must use|must come|must live|must keep", r"(?<!something )(?<!there )(?<!it )\bmust (?:not|never|always|only|remain|stay|be(?! (?:off|wrong|missing|broken|something)\b)|have|use|come|live|keep)\b"),
    ("rule", 2, "shouldn|should not|should never|should only|should always|should all|should stay|should remain", r""),
    ("rule", 1, "should be", r"\bshould be (?:in|on|at|under|called|named|done|made|used|kept|part|separate|the)\b"),
    ("rule", 2, "stop ", _OPENS + r"stop \w+ing\b"),
    ("rule", 2, "avoid|stay away", _OPENS + r"(?:try to )?(?:avoid|stay away from)\b"),
    ("rule", 2, "remind|directive|convention|guideline|policy|rule of", r"\bi remind\b|\b(?:the|our|my|main) (?:\w+ )?(?:directive|rule|convention|guideline|policy)\b(?! file)"),
    ("rule", 2, "keep in mind|bear in mind|remember that|be aware|beware", r""),
    ("rule", 2, "without asking|unless i |until i |before asking", r"\bwithout asking|\b(?:unless|until) i (?:ask|say|tell|explicitly|approve|confirm)\b|\bbefore asking\b"),
    ("rule", 1.5, "as needed|after each|after every|before each|before every|one at a time|step by step", r"\b(?:after|before) (?:each|every)\b|\bone at a time\b"),
    ("rule", 1.5, "at all|not allowed|forbidden|off limits|untouched", r"\b(?:not|n't)\b.{1,60}\bat all\b|\bnot allowed\b|\bforbidden\b|\boff limits\b|\buntouched\b"),
    # corrections
    ("correction", 1.5, "no, |no. |nope|no - |no! ", r"^(?:no(?=[,.!—–] | - )|nope\b|oh no\b|um,? no\b)(?! (?:problem|worries|error))"),
    ("correction", 2, "still wrong|still incorrect|still not right|is incorect|s wrong|is wrong|are wrong|was wrong|re wrong|s incorrect|is incorrect|are incorrect|not right|not correct|not true|not what|not how", r"\b(?:that|this|it|you|what)(?:'s|'re| is| are| was|\b)(?! seems| looks).{0,30}\b(?:wrong|incorr?ect|not (?:right|correct|true|what|how))\b(?! with)|\bstill (?:wrong|incorrect|not right)\b"),
    ("correction", 2, "i said|told you|i asked|i already|i meant|listen to me", r"\bi (?:already |just |clearly |specifically )?(?:said|told you|asked (?:you|for)|meant)\b|\blisten to me\b"),
    ("correction", 2, "why on earth|why the hell|why did you|why do you|why are you|why have you|why would you", r"\bwhy (?:on earth |the hell )?(?:did|do|are|have|would|were) you\b|\bwhy (?:on earth|the hell)\b"),
    ("correction", 2, "don't like|do not like|dislike|not a fan|hate ", r"\b(?:don't|do not|dont) (?:really )?like\b|\bi dislike\b|\bnot a fan\b|\bi hate\b"),
    ("correction", 2, ", not |; not |(not |- not |— not |and not |but not ", r"(?:[,;(—–-] ?|\b)(?:and |but )?not (?:in|on|the|a|an|to|just|as|for|from|with|by|via|through|under)\b"),
    ("correction", 1.5, " correct", r"^(?:\S+ ){1,8}(?:is|are) correct\b"),
    ("correction", 1.5, "you forgot|you missed|you misunder|you ignored|you broke|you removed|you deleted|you are delet|you're delet|you are missing|you changed|you keep", r"\byou(?:'re| are|'ve| have)? (?:just |also |still )?(?:forgot|miss|misunder|ignor|broke|remov|delet|chang|keep \w+ing)"),
    ("correction", 1.5, "supposed to|was meant to|misunderst|not the point|no reason", r"\b(?:not|n't|was|were) (?:supposed|meant) to\b|\bmisunderst|\bnot the point\b|\bno reason\b"),
    ("correction", 1, "seems you|it seems that you|you should have|you shouldn", r"\bseems (?:that )?you\b|\byou should(?:n't)? have\b"),
    # choices
    ("choice", 2, _each("let's|lets|let us", _CHOOSE), ""),
    ("choice", 2, "instead of|rather than|as opposed to", r"\b(?:use|using|want|need|prefer|with|keep|let's|should|store|we)\b.{1,120}\b(?:instead of|rather than|as opposed to)\b"),
    ("choice", 2, " instead.| instead!", r"\b(?:use|want|prefer|let's|we'll|i'll|set up|do|go with|need)\b.{1,120}\binstead[.!]$"),
    ("choice", 2, "prefer|i'd rather|i would rather|favor |favour ", r"\b(?:i|we|would|i'd|we'd) (?:also |really |still |much )?(?:prefer|rather)\b|\bin favou?r of\b"),
    ("choice", 2, "i want to use|i want to keep|want to use|like to use|like to keep|want to stay|want to avoid", r"\bi(?: would|'d)? (?:really |still |just |only )?(?:want|like) to (?:use|keep|stay|avoid|stick)\b"),
    ("choice", 2, "we'll |we will |we are going to|we're going to|we won't|we are not going", r"(?<!how )(?<!what )(?<!where )\bwe(?:'ll| will| are (?:not )?going to|'re (?:not )?going to| won't) (?:just |only |also |still |always |never |not )?(?:use|keep|have|be|handle|store|support|deploy|host|run|stick|stay|not|want|only|rely|call|put)\b"),
    ("choice", 1.5, "we should|we need to only|we only|we can just", r"\bwe should (?!probably (?:check|look)|check|look|test|see|fix|also check)\w+|\bwe (?:only|just) (?:need|want|have|use)\b"),
    ("choice", 2, "we want|we just want|we only want|we still want", r"(?<!case )(?<!if )\bwe (?:just |only |still )?want (?!to (?:see|know|check|test|make|be able|implement|add|build|create|put|write|fix)\b)\w"),
    ("choice", 2, "we decided|i decided|i've decided|we've decided|we have decided|we agreed|s decided|is decided", ""),
    ("choice", 2, "only when|only if|only for|only show|only run|only do", _OPENS + r"only (?:show|run|do|use|apply|send|load|build|call|include)\b|\bonly (?:when|if)\b(?! it (?:is|'s) necessary)"),
    ("choice", 1.5, "go with|going with|stick with|option |approach|opt for", r"\b(?:go|going|went|stick|sticking|stay) with\b|^(?:ok,? |yes,? )?option (?:\d|[a-d])\b|\bi(?:'d)? (?:like|agree with|prefer) .{0,20}\b(?:approach|option)\b"),
    ("choice", 1.5, "keep ", _OPENS + r"(?:keep|leave) (?:it|all|both|the|this|that|these|those|two|our|current|existing|soft|using)\b"),
    ("choice", 1.5, "default", r"\b(?:as|by|be|is) (?:the |a |our )?default\b"),
    ("choice", 2, "try to use|only use|use only|use our|use the same|use the existing", _OPENS + r"(?:try to use|only use|use only|use our|use the (?:same|existing))\b"),
    ("choice", 0.5, "for our|in our|of our", r"\b(?:for|in|of) our\b"),
    ("choice", 1, "doesn't need|don't need|do not need|does not need|no need", r"\b(?:don't|do not|doesn't|does not) need\b|\bno need (?:for|to|of)\b"),
    ("choice", 1.5, "separate", r"\b(?:be|is|are|it|a|make|should) (?:it )?(?:a |two |kept )?separated?\b"),
    # changes of mind
    ("change", 2, "just kidding|changed my mind|on second thought|second thoughts|scratch that|scratch what|scratch this|scratch it|forget about|forget that|forget it|put it back|never mind|nevermind|ignore that|ignore what", r"\bjust kidding\b|\bchanged my mind\b|\bsecond thoughts?\b|" + _OPENS + r"scratch (?:that|what|this|it)|" + _OPENS + r"forget (?:about|that|it|what)\b|\bput it back\b|\bnever ?mind\b|" + _OPENS + r"ignore (?:that|what)\b"),
    ("change", 2, "actually, |actually i |actually we |actually let|actually the |actually that |actually it |actually this |actually don|actually no|actually use|actually keep|actually just", r"^(?:\S+ ){0,3}actually,|^(?:ok(?:ay)?,? |oh,? |so |hmm,? |but |well,? |no,? )?actually (?:i|we|let|the|that|it|this|don't|no|you|use|keep|just)\b"),
    ("change", 2, "realized|realised", r"\bi (?:just |now )?reali[sz]ed\b"),
    ("change", 1.5, "undo |revert|roll back|rollback|go back to|switch back|change it back|bring back", _OPENS + r"(?:let's |can you |please )?(?:undo|revert|roll ?back|go back to|switch back|change it back|bring back)\b"),
    ("change", 2, "we no longer|re no longer|no longer needed|no longer used|no longer relevant|any more|anymore", r"\bwe (?:are |'re )?no longer\b|\b(?:don't|do not|won't|not) .{1,60}\bany ?more\b|\b(?:is|are) no longer (?:needed|used|relevant)\b"),
    # the person, the project, the world
    ("person", 2, "i'll |i will |myself", r"\bi(?:'ll| will) (?:run|start|handle|deploy|do|restart|test|take care|manage|push|commit|build|merge)\b|\b(?:i'll|i will|i can|i do|i usually|i always|let me)\b.{0,80}\bmyself\b"),
    ("person", 2, "i usually|i normally|i always|i never|i tend|i like to|i typically|i generally|i work|i run the|i run my|i run our|i run all|i use ", r"(?<!when )(?<!if )\bi (?:usually|normally|always|never|tend|like to|typically|generally|work (?:on|at|with|for|in)|run|use)\b"),
    ("person", 2, "i'm a |i'm an |i am a |i am an |i'm not |i am not |i'm new|i am new|i'm used|i'm target|i am target|call me|my name", r"\bi(?:'m| am) (?:a|an|new to|used to|targeting|not (?:a|an|very|that|familiar|going to|planning))\b|\bcall me\b|\bmy name is\b"),
    ("person", 1.5, "my goal|my team|my company|my client|my boss|our team|our users|our customers|our client|the goal is|the goal of|our goal", r"\b(?:my|our) (?:goal|team|company|client|boss|users|customers)\b|\bthe goal (?:is|of)\b"),
    ("person", 2, "we use |we're using|we are using|we don't use|we do not|we don't have|we don't need|we don't care|we only|we rely|we host|we deploy|we store|we already use|we run|we follow|we support|we don't support", r"(?<!how )(?<!where )(?<!what )(?<!which )\bwe (?:already |always |usually |currently |only |still |mostly )?(?:use|rely|host|deploy|store|run|follow|support|keep|track)\b|\bwe(?:'re| are) using\b|\bwe (?:don't|do not) (?:use|have|support|need|care|want|track|store|do)\b"),
    ("person", 2, "i have set up|i've set up|i already have|i have already|i've already|already set up|already deploy|already configured", r"\bi(?:'ve| have) (?:already )?set up\b|\bi already have\b|\balready (?:been )?(?:set up|deployed|deploying|configured)\b"),
    ("person", 2, "there will be|there are only|there is only|there's only|there are just|there is just|there is usually|there is no need|there's no need|only one", r"\bthere (?:will|are|is|'s)(?: be)?(?: usually| always)? (?:just|only|usually|always|at most|no need)\b|\bthere will (?:only |always |never |just )?be\b"),
    ("person", 2, "handled in|handled by|handled via|handled through|managed in|managed by|managed through|done in|done by|tracked in|tracked by", r"\b(?:is|are|be|gets?) (?:already |all |being )?(?:handled|managed|stored|kept|done|tracked) (?:in|by|via|through|from|on|else|with)\b"),
    ("person", 1.5, "usually|normally|typically|in reality|in practice|in our case|in my case", r"\b(?:usually|normally|typically)\b|\bin (?:our|my) case\b|\bin (?:reality|practice)\b"),
    ("person", 1.5, "currently|with a plan|the plan is|planned|eventually|later on|in the long", r"\bcurrently\b.{1,60}\b(?:plan|will|but)\b|\bthe plan is\b|\bwith a plan\b|\blater on\b|\bin the long (?:run|term)\b"),
    ("person", 2.5, "prototyp|personal project|side project|internal tool|hobby|mvp|proof of concept|not production|not a production|not an enterprise|not an app|not a project", r"\b(?:we're|we are|i'm|i am|is|just|only) .{0,40}(?:prototyp\w*|personal project|side project|internal tool|hobby|mvp|proof of concept)|\bnot (?:a )?production\b|\bnot an? [\w-]+(?:-level)? (?:app|application|project)\b"),
    ("person", 1.5, "serve as|serves as|is meant to|are meant to|is used for|are used for|stands for|is responsible|belongs to|depends on", r"\b(?:they|those|it|this|these|that) (?:serves? as|(?:is|are) meant to|(?:is|are) (?:only |just )?used (?:for|to|by))\b"),
    ("person", 0.5, "because|since |reason is|so that|so we |otherwise|to avoid", r"\b(?:we|i|they|it|those|this|you)\b.{1,120}\b(?:because|reason is|otherwise|to avoid)\b"),
    ("person", 2, "s will |people will |they will |everyone will ", r"\b(?!this)(?:\w\w+[^s']s|people|they|everyone) will (?:only |also |always |usually |never |just )?(?:stay|pay|be|come|use|need)\b"),
)  # fmt: skip

# Signs of the moment, of doubt and of reports of errors.
AGAINST: tuple[Cue, ...] = (
    ("", -0.5, "for now|as of now|right now|this time|yet", r"\b(?:for now|as of now|right now|this time|yet)\b"),
    ("", -1, "anything else|any work", ""),
    ("", -1.5, "error|exception|fail|i tried|i get|i got|i see|see this|it says|i'm getting|i am getting|i'm seeing|not working|doesn't work", r"\b(?:errors?|exception|fail(?:s|ed|ing)?|i tried|i (?:still )?(?:get|got|see)|see this|it says|i'm (?:getting|seeing)|not working|doesn't work)\b"),
    ("", -1, "i think|maybe|perhaps|probably|not sure|i guess|possibly|could we|can we|i wonder", r"\b(?:maybe|perhaps|probably|not sure|i guess|possibly|could we|can we|i wonder)\b"),
)  # fmt: skip
