# ruff: noqa: E501
"""Records of an invented project, and long messages of which each is about one of them.

All sentences are written for this benchmark. English and Chinese messages are drawn: greetings and
small talk around sentences about other parts of the project, and, at any place, a sentence about
the wanted record in other words than its own. `REQUESTS` and `ERRORS` are written by hand. The same
seed gives the same messages.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple


class Message(NamedTuple):
    """A long message and the text of the record that it is about."""

    text: str
    record: str


class Request(NamedTuple):
    """A request, and the record that answers it."""

    record: str
    text: str


class Failure(NamedTuple):
    """A fix on record, and an output of what it mends, with the symbol in another spelling."""

    fix: str
    line: str


# A part of the project, its purpose, and how people speak of it without its name.
PARTS = (
    ("billing-worker", "invoices", "the nightly run that charges customers"),
    ("search-gateway", "product queries", "the thing behind the search box"),
    ("login-portal", "sessions", "the page where people sign in"),
    ("photo-importer", "uploaded pictures", "the job that takes in pictures"),
    ("ledger-api", "bookings", "the accounting endpoints"),
    ("mail-relay", "newsletters", "the sender of our letters"),
    ("price-feed", "exchange rates", "the stream of currencies"),
    ("stock-keeper", "inventory counts", "the warehouse numbers"),
    ("ticket-board", "support cases", "the help desk screen"),
    ("map-tiles", "city maps", "the rendering of streets"),
    ("audit-trail", "access logs", "the record of who looked at what"),
    ("video-encoder", "recordings", "the conversion of films"),
    ("coupon-shop", "vouchers", "the discount codes"),
    ("weather-probe", "sensor readings", "the stations on the roofs"),
    ("chat-bridge", "messages", "the connection to the messenger"),
    ("report-builder", "monthly statistics", "the tables for management"),
    ("identity-sync", "staff accounts", "the copy of the directory"),
    ("parcel-tracker", "deliveries", "where packages are"),
    ("form-studio", "questionnaires", "the editor of surveys"),
    ("tax-rules", "duties", "the calculation of tariffs"),
)
# What is on record about a part, and how a message asks for it.
ASPECTS = (
    ("{part} retries a failed call {n} times with exponential backoff",
     "When {part} gets no answer from the other side, how often does it try again, and does it back "
     "off in between?"),
    ("{part} keeps {purpose} for {n} days and then deletes them",
     "I have to tell the lawyers for how long {purpose} stay in {part} before anything is deleted."),
    ("The database of {part} is PostgreSQL on host db-{n}, reached through pgbouncer",
     "Where does {part} have its database, and do I go through a pooler or straight to the host?"),
    ("{part} is deployed by hand on Thursdays, since its migrations lock tables",
     "Could somebody remind me on which weekday we deploy {part} and why it isn't automatic?"),
    ("Errors of {part} are paged to the on-call phone only between 8 and 20 o'clock",
     "At night {part} stayed silent although it threw errors, so who is paged for it, and at which "
     "hours?"),
    ("{part} caches {purpose} in Redis with a lifetime of {n} minutes",
     "The numbers looked stale for a while, is there a cache with a lifetime in front of {purpose} in "
     "{part}?"),
    ("The tests of {part} need the fixture container seed-{n}, or they hang",
     "On my new laptop the tests of {part} hang for ever, did we need some container with fixtures?"),
    ("{part} reads its secrets from Vault under the path kv/{part}/{n}",
     "The token expired, so from which path in Vault does {part} read its secrets?"),
    ("Dates in {part} are stored as UTC and shown in the time zone of the customer",
     "A customer in Lima sees the wrong hour, in which time zone does {part} store its dates?"),
    ("{part} rejects uploads above {n} megabytes with status 413",
     "Is there a limit on the size of uploads in {part}? A partner gets a 413 and can't say why."),
    ("The owner of {part} is the platform team, reviews take at most {n} days",
     "Who owns {part} these days, and how long may a review take before I nag?"),
    ("{part} writes {purpose} as Parquet files to the bucket archive-{n}",
     "The analysts ask into which bucket {part} writes {purpose}, and in what format."),
    ("Feature flags of {part} live in flags-{n}.yaml and are read at start only",
     "I toggled a flag of {part} and nothing happened, are the flags read only at start?"),
    ("{part} limits each client to {n} requests a second and answers 429 beyond",
     "The partner is throttled with 429, what is the limit of requests for a client of {part}?"),
    ("The staging copy of {part} is wiped every night at {n} minutes past two",
     "My test data in the staging copy of {part} is gone each morning, is it wiped at night?"),
    ("{part} must never log {purpose} in clear text, only their hashes",
     "May I add a line to the log of {part} that prints {purpose}, or only hashes of them?"),
)  # fmt: skip
SMALL_TALK = (
    "Good morning, I hope the weekend was quiet on your side.",
    "Sorry for the wall of text, I wanted to get it all out of my head before lunch.",
    "I slept badly and the coffee machine is broken again, so bear with me.",
    "We had visitors from the other office, and everybody talked at once.",
    "The train was late, so I wrote half of this on my phone.",
    "My daughter has her first school play tonight and I want to leave early.",
    "The heating in the office has been repaired at last, which makes me type faster.",
    "I went through my notes of the last days and tried to sort them a bit.",
    "There was cake for the anniversary of the team, you would have liked it.",
    "Anyway, I promised to keep you in the picture about all the small things.",
)
ASIDES = (
    "Yesterday I spent most of the day with {other}, mainly reading old code about {purpose}.",
    "Somebody in the meeting mentioned {nick} and said that it had been faster last year.",
    "I also closed two old pull requests of {other} that nobody wanted any more.",
    "For {nick} the designers brought new drawings, which I haven't opened yet.",
    "The dashboard of {other} is green again after the restart on Monday.",
    "People keep confusing {other} with the older program of nearly the same name.",
    "Later this week I want to write a page about {purpose} for newcomers.",
    "The graph of {other} has a dip on Sunday that I can explain by the holidays.",
    "We renamed a few variables in {other}, only to make them easier to read.",
    "There is a new colleague who will look after {nick} from the summer on.",
)
CHINESE_PARTS = (
    ("支付网关", "账单"), ("搜索服务", "查询记录"), ("登录页面", "会话"), ("图片导入器", "照片"),
    ("邮件系统", "通知邮件"), ("汇率接口", "汇率数据"), ("库存模块", "库存数量"), ("客服平台", "工单"),
    ("地图渲染", "瓦片"), ("审计日志", "访问记录"), ("视频转码", "录像"), ("优惠券中心", "折扣码"),
    ("气象采集", "传感器读数"), ("聊天桥接", "消息"), ("报表生成器", "月度统计"), ("物流跟踪", "包裹状态"),
)  # fmt: skip
CHINESE_ASPECTS = (
    ("{part}调用失败后会按指数退避重试{n}次", "{part}如果对方没有响应，会重试几次，中间有没有退避？"),
    ("{part}的{purpose}保留{n}天，之后自动删除", "法务问我{part}里的{purpose}到底保留多久才删除。"),
    ("{part}的数据库是PostgreSQL，主机为db-{n}，经过连接池访问", "{part}的数据库放在哪台主机上，要不要走连接池？"),
    ("{part}只在周四手动部署，因为迁移会锁表", "谁能提醒我{part}是星期几部署的，为什么不能自动部署？"),
    ("{part}的{purpose}缓存在Redis里，有效期{n}分钟", "{part}显示的{purpose}好像是旧的，前面是不是有缓存，有效期多长？"),
    ("运行{part}的测试需要先启动容器seed-{n}，否则会卡住", "我的新电脑上{part}的测试一直卡住，是不是要先启动某个容器？"),
    ("{part}的密钥从Vault的kv/{n}路径读取", "令牌过期了，{part}的密钥是从Vault的哪个路径读取的？"),
    ("{part}的时间统一按UTC存储，按客户时区显示", "利马的客户看到的时间不对，{part}的时间是按哪个时区存储的？"),
    ("{part}拒绝超过{n}兆的上传并返回413", "合作方上传到{part}时收到413，上传的大小限制是多少？"),
    ("{part}由平台组负责，评审最多{n}天", "现在{part}归谁负责，评审最长可以拖几天？"),
    ("{part}把{purpose}写成Parquet文件放进archive-{n}存储桶", "分析师想知道{part}的{purpose}写进哪个存储桶，是什么格式。"),
    ("{part}的日志里禁止出现明文{purpose}，只能写哈希", "我想在{part}的日志里打印{purpose}，可以写明文还是只能写哈希？"),
    ("{part}限制每个客户端每秒{n}个请求，超过返回429", "合作方被{part}限流了，每个客户端每秒的请求上限是多少？"),
    ("{part}的预发环境每天夜里两点清空", "我放在{part}预发环境里的测试数据每天早上都没了，夜里会清空吗？"),
)  # fmt: skip
CHINESE_SMALL_TALK = (
    "早上好，希望你周末过得不错。", "不好意思写了这么长，我想在午饭前把脑子里的事情都说出来。",
    "昨晚没睡好，咖啡机又坏了，请多包涵。", "今天火车晚点了，这段话有一半是在手机上写的。",
    "女儿今晚第一次上台演出，我想早点下班。", "办公室的暖气终于修好了，打字也快了一些。",
    "我把这几天的笔记翻了一遍，稍微整理了一下。", "团队周年庆有蛋糕，你要是在就好了。",
)  # fmt: skip
CHINESE_ASIDES = (
    "昨天大部分时间都在看{other}的旧代码，主要跟{purpose}有关。", "开会的时候有人提到{other}，说去年比现在快。",
    "我还顺手关掉了{other}的两个没人要的合并请求。", "设计师给{other}带来了新的图，我还没打开看。",
    "{other}的看板周一重启以后又恢复正常了。", "这周晚些时候我想给新同事写一页关于{purpose}的说明。",
    "{other}周日的曲线有个低谷，应该是假期的缘故。", "夏天开始会有一位新同事来照看{other}。",
)  # fmt: skip
REQUESTS = tuple(
    Request(*pair)
    for pair in (
        ("Invoices are rendered with Typst, not LaTeX", "Which tool renders the invoices?"),
        ("The mobile app talks GraphQL to the backend, the web app REST",
         "Add a mobile screen for order history that talks to the backend."),
        ("Never run migrations against the replica; it is read only",
         "Run the pending migrations against the replica."),
        ("Passwords are hashed with Argon2id, memory 64 MB", "How are passwords hashed here?"),
        ("Kafka topics are named team.entity.event in lower case",
         "Create a Kafka topic for cancelled orders."),
        ("The signing certificate is renewed by Olga each March",
         "Who renews the signing certificate?"),
        ("Playwright runs headed only on the Mac mini, since Safari needs a screen",
         "Why do the Playwright runs for Safari fail on Linux runners?"),
        ("Locale files are sorted alphabetically by the pre-commit hook",
         "Insert the new keys into the locale files."),
        ("Terraform state lives in the bucket tf-state-eu, locked by DynamoDB",
         "Where does the Terraform state live?"),
        ("Webhook payloads are signed with HMAC SHA-256 in the header X-Shop-Signature",
         "Verify the signature of webhook payloads in the new receiver."),
        ("The design system forbids box shadows; use borders",
         "Give the cards of the design system a soft box shadow."),
        ("Elasticsearch is pinned to 7.17 because of the license",
         "Upgrade Elasticsearch to the newest version."),
        ("Avatars are resized to 256 pixels by imgproxy, never in the app",
         "Resize avatars to 128 pixels before they are shown."),
        ("Release notes are written from changelog fragments in news/",
         "Write the release notes for 4.2."),
        ("Cron jobs run in the namespace batch with a deadline of 20 minutes",
         "Schedule a cron job that rebuilds the sitemap."),
        ("The OAuth callback must be registered with a trailing slash",
         "Register the OAuth callback of the new tenant."),
        ("Money is stored as integer cents, never as float",
         "Store the money of a refund in the new column."),
        ("The legacy SOAP endpoint is switched off in June",
         "Extend the legacy SOAP endpoint by a field for the branch."),
        ("Snapshots of the ledger are taken hourly and kept for two weeks",
         "How long are snapshots of the ledger kept?"),
        ("Docker images are built with Kaniko, since runners have no daemon",
         "Build the Docker images on the runners."),
        ("Sentry drops events of bots by the rule crawler-noise",
         "Sentry misses events of some crawlers, is there a rule?"),
        ("The vector index is rebuilt with IVF lists of 4096",
         "Rebuild the vector index with more lists."),
        ("Pull requests need the label needs-qa before the merge queue takes them",
         "Put my pull request into the merge queue."),
        ("CSV exports use semicolons, as Excel in Germany expects",
         "Add a CSV export for the customers table."),
        ("Storybook is published to pages under /ui by the job storybook-pages",
         "Publish the Storybook with the new buttons."),
        ("gRPC deadlines are 800 ms inside the cluster",
         "Set gRPC deadlines for the calls inside the cluster."),
        ("The barcode scanner needs the driver zebra-usb 2.4",
         "The barcode scanner is not recognised on the new till, which driver does it need?"),
        ("日期格式统一使用ISO 8601，前端再转换", "新接口的日期格式应该使用什么？"),
        ("部署前必须先在预发环境跑完回归测试", "帮我写一个部署脚本，部署前要做什么回归测试？"),
        ("Fehlertexte für Kunden stehen in texte/fehler.yaml, nie im Code",
         "Schreibe einen neuen Fehlertext für Kunden, wenn die Karte abgelehnt wird."),
    )
)  # fmt: skip
CONTEXTS = (
    "I came back from two weeks of leave yesterday and am still reading what happened.",
    "The sales people showed a competitor's product in the town hall, and it looked polished.",
    "Since the reorganisation I sit with another group and share a desk with two students.",
    "We spent the whole morning on a workshop about hiring and onboarding of juniors.",
    "My editor crashed twice and I lost a paragraph that I had written by hand.",
    "The landlord announced noise from construction for the rest of the quarter.",
    "A friend recommended a podcast on the history of mathematics that I listen to on my way.",
    "Our team lead wants everybody to write a short summary of the quarter by Friday.",
    "There was a long thread about lunch orders, which ended without any result.",
    "I cleaned my desktop, archived old branches and sorted the bookmarks in the browser.",
    "The intern presented the results of the user interviews, and they were mostly kind.",
    "Next month half of the office goes to a conference in Lisbon, so it will be quiet.",
    "The projector in the big meeting room flickers and nobody has filed a ticket yet.",
    "Marketing asked for screenshots with nicer sample names than foo and bar.",
    "I talked with the accountant about travel expenses and daily allowances.",
    "Someone watered the plants so much that the window sill was under water.",
)  # fmt: skip
ERRORS = tuple(
    Failure(*pair)
    for pair in (
        ("`notifications:listByUser` threw “Could not find public function” until `npx convex dev` "
         "pushed the functions",
         "[CONVEX Q(notifications.listByUser)] Server Error: Could not find public function for "
         "'notifications/listByUser'. Did you forget to run the deploy?"),
        ("The build of sharp failed with ERR_DLOPEN_FAILED on Alpine; installing vips-dev and "
         "rebuilding helped",
         "Error: ERR_DLOPEN_FAILED: Error loading shared library libvips-cpp.so.42 (needed by "
         "/app/node_modules/@img/sharp-linuxmusl-x64/lib/sharp.node)"),
        ("prisma migrate stopped with P3009 because a failed migration was on record; "
         "`prisma migrate resolve` cleared it",
         "Error: P3009 migrate found failed migrations in the target database, new migrations will "
         "not be applied"),
        ("`OrderTotals.recompute` raised DecimalException on empty carts; the sum now starts at "
         "Decimal(0)",
         "decimal.DecimalException: [<class 'decimal.InvalidOperation'>] in order_totals.py:88 "
         "OrderTotals::recompute"),
        ("pg_restore complained about an unsupported version 1.16 in the file header; the client "
         "had to be version 17",
         "pg_restore: error: unsupported version (1.16) in file header"),
        ("Vite could not resolve `@acme/tokens/dist/theme.css` until the package exported it",
         'Missing "./dist/theme.css" specifier in "@acme/tokens" package [plugin vite:import-analysis] '
         "src/main.ts:14:7"),
        ("ktlint rejected `UserPrefsScreen.kt` for a wildcard import; the rule no-wildcard-imports "
         "stays on",
         "app/src/main/java/ui/UserPrefsScreen.kt:7:1: Wildcard import (cannot be auto-corrected) "
         "(standard:no-wildcard-imports)"),
        ("Celery workers died with WorkerLostError signal 9 since the pod had 256Mi; 512Mi are "
         "needed",
         "billiard.exceptions.WorkerLostError: Worker exited prematurely: signal 9 (SIGKILL) Job: 41."),
        ("`useRouter` threw NextRouter was not mounted in tests; mock next/router in setup.ts",
         "Error: NextRouter was not mounted. https://nextjs.org/docs/messages/next-router-not-mounted"),
        ("cargo failed with E0277 on `Session: Send` because of an Rc; Arc replaced it",
         "error[E0277]: `Rc<SessionInner>` cannot be sent between threads safely"),
        ("Ansible could not decrypt group_vars/prod/vault.yml, the id `prod@prompt` was missing",
         "ERROR! Attempting to decrypt but no vault secrets found for group_vars/prod/vault.yml"),
        ("`inventory.reserveItems` deadlocked with 40P01 when two carts locked rows in another "
         "order; rows are locked by id",
         "ERROR: deadlock detected (SQLSTATE 40P01) CONTEXT: inventory/reserveItems while locking "
         "tuple (12,4) in relation stock"),
        ("gradle failed on `:app:mergeReleaseResources` since ic_bell.png was a webp; the file was "
         "converted",
         "Execution failed for task ':app:mergeReleaseResources'. > AAPT: error: file failed to "
         "compile: ic_bell.png"),
        ("ssh to the bastion was refused with “no matching host key type found. Their offer: "
         "ssh-rsa”; HostKeyAlgorithms +ssh-rsa helped",
         "Unable to negotiate with 10.4.0.9 port 22: no matching host key type found. Their offer: "
         "ssh-rsa"),
        ("`Ledger::postEntry` answered LEDGER_PERIOD_CLOSED at month's end; post with the flag "
         "late_entry",
         'HTTP 422 {"code":"LEDGER_PERIOD_CLOSED","at":"ledger.postEntry","period":"2031-02"}'),
        ("mypy crashed on `reports/pivot.py` with INTERNAL ERROR until the cache folder was removed",
         "reports/pivot.py:203: error: INTERNAL ERROR -- Please try using mypy master on GitHub"),
    )
)  # fmt: skip
# What stands around an error line in a log: of no failure in particular.
LOG_LINES = (
    "worker 3 accepted job 88121 from queue default",
    "GET /healthz 200 in 2 ms",
    "compiled 214 modules in 3.1 s",
    "    at async processTicksAndRejections (node:internal/process/task_queues:95:5)",
    "    at Object.<anonymous> (/srv/app/dist/index.js:1:18422)",
    "configuration reloaded from environment",
    "connection pool size 10, idle 7",
    "  File \"/usr/lib/python3.11/threading.py\", line 975, in run",
    "shutting down gracefully, waiting for 2 requests",
    "using cached dependency tree from the previous step",
)  # fmt: skip


def english(count: int, seed: int = 1) -> tuple[list[str], list[Message]]:
    """Return the records, and so many messages about as many of them."""
    chance = random.Random(f"english {seed}")
    records = {
        (part, at): _filled(template, chance, part=part[0], purpose=part[1])
        for part in PARTS
        for at, (template, _) in enumerate(ASPECTS)
    }
    messages = []
    for part, at in chance.sample(list(records), count):
        asked = ASPECTS[at][1].format(part=part[0], purpose=part[1])
        asides = [
            template.format(other=other[0], purpose=other[1], nick=other[2])
            for template, other in zip(
                chance.sample(ASIDES, 7), chance.sample(PARTS, 7), strict=True
            )
            if other is not part
        ]
        text = _mixed([*chance.sample(SMALL_TALK, 3), *asides], asked, chance, " ")
        messages.append(Message(text, records[part, at]))
    return list(records.values()), messages


def chinese(count: int, seed: int = 1) -> tuple[list[str], list[Message]]:
    """Return the records, and so many messages about as many of them."""
    chance = random.Random(f"chinese {seed}")
    records = {
        (part, at): _filled(template, chance, part=part[0], purpose=part[1])
        for part in CHINESE_PARTS
        for at, (template, _) in enumerate(CHINESE_ASPECTS)
    }
    messages = []
    for part, at in chance.sample(list(records), count):
        asked = CHINESE_ASPECTS[at][1].format(part=part[0], purpose=part[1])
        asides = [
            template.format(other=other[0], purpose=other[1])
            for template, other in zip(
                chance.sample(CHINESE_ASIDES, 6), chance.sample(CHINESE_PARTS, 6), strict=True
            )
            if other is not part
        ]
        text = _mixed([*chance.sample(CHINESE_SMALL_TALK, 3), *asides], asked, chance, "")
        messages.append(Message(text, records[part, at]))
    return list(records.values()), messages


def behind_context(request: Request, number: int) -> str:
    """Return the request behind, between or before three sentences about something else."""
    chance = random.Random(f"context {number}")
    around = chance.sample(CONTEXTS, 3)
    around.insert((3, 3, 3, 1, 0)[number % 5], request.text)
    return " ".join(around)


def pasted(failure: Failure, chars: int, number: int, *, lines: bool) -> str:
    """Return a paste of at least so many characters with the line of the failure in it."""
    chance = random.Random(f"paste {number} {chars}")
    before: list[str] = []
    while sum(map(len, before)) + len(failure.line) < chars:
        before.append(chance.choice(LOG_LINES))
    at = chance.randint(len(before) // 2, len(before)) if before else 0
    parts = [*before[:at], failure.line, *before[at:]]
    return "\n".join(parts) if lines else " | ".join(map(str.strip, parts))


def _filled(template: str, chance: random.Random, **words: str) -> str:
    return template.format(n=chance.randint(2, 98), **words)


def _mixed(around: Sequence[str], asked: str, chance: random.Random, by: str) -> str:
    parts = list(around)
    chance.shuffle(parts)
    parts.insert(chance.randint(0, len(parts)), asked)
    return by.join(parts)
