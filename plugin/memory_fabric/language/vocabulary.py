"""Built-in names of agents, technologies and patterns, and their variants.

Only literals, since every prompt loads them: nothing is computed at import.
"""

from __future__ import annotations

from memory_fabric.text import name_key

KNOWN_AGENTS = frozenset(
    """database-engineer backend-system-architect frontend-ui-developer security-auditor
    test-generator workflow-architect llm-integrator data-pipeline-engineer code-reviewer
    debug-investigator ux-researcher""".split()
)

# A hyphenated name whose last part is a role is an agent: `payments-engineer`, `api-designer`.
AGENT_ROLES = frozenset(
    """engineer architect developer auditor generator integrator reviewer tester designer analyst
    researcher investigator strategist planner specialist optimizer writer debugger explorer
    orchestrator coordinator scientist""".split()
)
_NOT_AGENT_STARTS = frozenset("non co ex pre per third anti multi single self full-time".split())

# Endings of agents' names besides roles: `python-pro`, `go-expert`.
_PERSONS = frozenset("expert pro dev guru agent".split())

# The topics of an agent, as tags or words of its memories (BR-14).
AGENT_TERMS = {
    "database-engineer": (
        "PostgreSQL", "schema", "migration", "SQL", "index", "pgvector", "query", "pagination"),
    "backend-system-architect": (
        "API", "REST", "FastAPI", "backend", "service", "endpoint", "authentication", "SQLAlchemy"),
    "frontend-ui-developer": (
        "frontend", "React", "UI", "TypeScript", "component", "CSS", "accessibility"),
    "security-auditor": (
        "security", "OWASP", "authentication", "audit", "vulnerability", "secret", "permission"),
    "test-generator": ("test", "unit", "integration", "coverage", "pytest", "fixture", "mock"),
    "workflow-architect": ("workflow", "LangGraph", "orchestration", "state", "agent", "queue"),
    "llm-integrator": (
        "llm", "embeddings", "RAG", "function calling", "prompt", "token", "streaming"),
    "data-pipeline-engineer": (
        "data", "pipeline", "ETL", "vector", "embeddings", "batch", "ingestion"),
    "code-reviewer": ("review", "convention", "lint", "naming", "test", "error handling"),
    "debug-investigator": ("bug", "root cause", "regression", "crash", "log", "trace"),
    "ux-researcher": ("UX", "usability", "accessibility", "design", "persona"),
}  # fmt: skip

# One word of an agent's name -> its terms, for agents that AGENT_TERMS does not name.
ROLE_TERMS = {
    "database": AGENT_TERMS["database-engineer"],
    "db": AGENT_TERMS["database-engineer"],
    "dba": AGENT_TERMS["database-engineer"],
    "sql": AGENT_TERMS["database-engineer"],
    "schema": AGENT_TERMS["database-engineer"],
    "migration": AGENT_TERMS["database-engineer"],
    "backend": AGENT_TERMS["backend-system-architect"],
    "api": AGENT_TERMS["backend-system-architect"],
    "frontend": AGENT_TERMS["frontend-ui-developer"],
    "ui": AGENT_TERMS["frontend-ui-developer"],
    "security": AGENT_TERMS["security-auditor"],
    "auth": AGENT_TERMS["security-auditor"],
    "test": AGENT_TERMS["test-generator"],
    "tests": AGENT_TERMS["test-generator"],
    "testing": AGENT_TERMS["test-generator"],
    "tester": AGENT_TERMS["test-generator"],
    "qa": AGENT_TERMS["test-generator"],
    "workflow": AGENT_TERMS["workflow-architect"],
    "llm": AGENT_TERMS["llm-integrator"],
    "rag": AGENT_TERMS["llm-integrator"],
    "ai": AGENT_TERMS["llm-integrator"],
    "ml": AGENT_TERMS["llm-integrator"],
    "data": AGENT_TERMS["data-pipeline-engineer"],
    "etl": AGENT_TERMS["data-pipeline-engineer"],
    "pipeline": AGENT_TERMS["data-pipeline-engineer"],
    "review": AGENT_TERMS["code-reviewer"],
    "reviewer": AGENT_TERMS["code-reviewer"],
    "debug": AGENT_TERMS["debug-investigator"],
    "debugger": AGENT_TERMS["debug-investigator"],
    "debugging": AGENT_TERMS["debug-investigator"],
    "ux": AGENT_TERMS["ux-researcher"],
    "devops": ("deployment", "CI", "Docker", "Kubernetes", "infrastructure", "monitoring"),
    "sre": ("deployment", "incident", "Kubernetes", "infrastructure", "monitoring"),
    "deployment": ("deployment", "CI", "Docker", "Kubernetes", "rollback"),
    "infrastructure": ("deployment", "Terraform", "Docker", "Kubernetes", "cloud", "monitoring"),
    "cloud": ("deployment", "Terraform", "Docker", "Kubernetes", "cloud", "monitoring"),
    "release": ("release", "version", "changelog", "deployment"),
    "performance": ("performance", "latency", "cache", "profiling", "index", "memory"),
    "mobile": ("mobile", "iOS", "Android", "navigation", "offline"),
    "docs": ("documentation", "README", "changelog", "example"),
    "documentation": ("documentation", "README", "changelog", "example"),
}

# fmt: off
# name_key of a name or of a variant of it -> the name in our spelling.
TECHNOLOGIES = {
    "postgresql": "PostgreSQL", "postgres": "PostgreSQL", "pg": "PostgreSQL", "psql": "PostgreSQL",
    "postgre": "PostgreSQL", "postgresdb": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB",
    "sqlite": "SQLite", "sqlite3": "SQLite", "oracledatabase": "Oracle Database",
    "oracledb": "Oracle Database", "sqlserver": "SQL Server", "mssql": "SQL Server",
    "mssqlserver": "SQL Server", "mongodb": "MongoDB", "mongo": "MongoDB", "dynamodb": "DynamoDB",
    "awsdynamodb": "DynamoDB", "cassandra": "Cassandra", "apachecassandra": "Cassandra",
    "scylladb": "ScyllaDB", "scylla": "ScyllaDB", "cockroachdb": "CockroachDB", "tidb": "TiDB",
    "yugabytedb": "YugabyteDB", "yugabyte": "YugabyteDB", "neo4j": "Neo4j", "memgraph": "Memgraph",
    "arangodb": "ArangoDB", "dgraph": "Dgraph", "redis": "Redis", "valkey": "Valkey",
    "memcached": "Memcached", "memcache": "Memcached", "keydb": "KeyDB", "etcd": "etcd",
    "clickhouse": "ClickHouse", "duckdb": "DuckDB", "snowflake": "Snowflake",
    "bigquery": "BigQuery", "googlebigquery": "BigQuery", "redshift": "Redshift",
    "amazonredshift": "Redshift", "databricks": "Databricks", "elasticsearch": "Elasticsearch",
    "elastic": "Elasticsearch", "opensearch": "OpenSearch", "meilisearch": "Meilisearch",
    "typesense": "Typesense", "algolia": "Algolia", "apachesolr": "Apache Solr",
    "solr": "Apache Solr", "lucene": "Lucene", "apachelucene": "Lucene", "faiss": "FAISS",
    "pinecone": "Pinecone", "weaviate": "Weaviate", "qdrant": "Qdrant", "milvus": "Milvus",
    "chromadb": "ChromaDB", "chroma": "ChromaDB", "lancedb": "LanceDB", "pgvector": "pgvector",
    "postgis": "PostGIS", "timescaledb": "TimescaleDB", "timescale": "TimescaleDB",
    "influxdb": "InfluxDB", "influx": "InfluxDB", "pgbouncer": "PgBouncer", "supabase": "Supabase",
    "firebase": "Firebase", "firestore": "Firestore", "planetscale": "PlanetScale", "neon": "Neon",
    "turso": "Turso", "libsql": "libSQL", "rocksdb": "RocksDB", "leveldb": "LevelDB",
    "lmdb": "LMDB", "fts5": "FTS5", "sqlitefts5": "FTS5", "pgloader": "pgloader", "kafka": "Kafka",
    "apachekafka": "Kafka", "redpanda": "Redpanda", "rabbitmq": "RabbitMQ", "rabbit": "RabbitMQ",
    "nats": "NATS", "natsio": "NATS", "apachepulsar": "Apache Pulsar", "pulsar": "Apache Pulsar",
    "activemq": "ActiveMQ", "zeromq": "ZeroMQ", "zmq": "ZeroMQ", "sqs": "SQS", "amazonsqs": "SQS",
    "awssqs": "SQS", "sns": "SNS", "amazonsns": "SNS", "awssns": "SNS",
    "eventbridge": "EventBridge", "kinesis": "Kinesis", "celery": "Celery", "sidekiq": "Sidekiq",
    "bullmq": "BullMQ", "dramatiq": "Dramatiq", "temporal": "Temporal", "temporalio": "Temporal",
    "airflow": "Airflow", "apacheairflow": "Airflow", "dagster": "Dagster", "prefect": "Prefect",
    "dbt": "dbt", "apachespark": "Apache Spark", "spark": "Apache Spark", "pyspark": "Apache Spark",
    "apacheflink": "Apache Flink", "flink": "Apache Flink", "apachebeam": "Apache Beam",
    "debezium": "Debezium", "python": "Python", "cpython": "Python", "python3": "Python",
    "pypy": "PyPy", "javascript": "JavaScript", "ecmascript": "JavaScript",
    "typescript": "TypeScript", "tsc": "TypeScript", "java": "Java", "kotlin": "Kotlin",
    "scala": "Scala", "groovy": "Groovy", "clojure": "Clojure", "go": "Go", "golang": "Go",
    "rust": "Rust", "rustlang": "Rust", "c++": "C++", "cpp": "C++", "cplusplus": "C++", "c#": "C#",
    "csharp": "C#", "f#": "F#", "fsharp": "F#", ".net": ".NET", "dotnet": ".NET", "aspnet": ".NET",
    "asp.net": ".NET", "swift": "Swift", "objectivec": "Objective-C", "objc": "Objective-C",
    "ruby": "Ruby", "php": "PHP", "perl": "Perl", "lua": "Lua", "elixir": "Elixir",
    "erlang": "Erlang", "haskell": "Haskell", "ocaml": "OCaml", "julia": "Julia", "dart": "Dart",
    "zig": "Zig", "bash": "Bash", "powershell": "PowerShell", "pwsh": "PowerShell", "zsh": "Zsh",
    "webassembly": "WebAssembly", "wasm": "WebAssembly", "sql": "SQL", "graphql": "GraphQL",
    "html": "HTML", "css": "CSS", "scss": "SCSS", "sass": "Sass", "json": "JSON", "yaml": "YAML",
    "toml": "TOML", "xml": "XML", "markdown": "Markdown", "jsonl": "JSONL", "ndjson": "JSONL",
    "csv": "CSV", "parquet": "Parquet", "avro": "Avro", "protobuf": "Protobuf",
    "protocolbuffers": "Protobuf", "messagepack": "MessagePack", "msgpack": "MessagePack",
    "thrift": "Thrift", "apachethrift": "Thrift", "node.js": "Node.js", "nodejs": "Node.js",
    "node": "Node.js", "deno": "Deno", "bun": "Bun", "npm": "npm", "pnpm": "pnpm", "yarn": "Yarn",
    "pip": "pip", "uv": "uv", "poetry": "Poetry", "pdm": "PDM", "hatch": "Hatch", "conda": "Conda",
    "miniconda": "Conda", "anaconda": "Conda", "pipx": "pipx", "cargo": "Cargo", "maven": "Maven",
    "gradle": "Gradle", "bazel": "Bazel", "cmake": "CMake", "meson": "Meson", "ninja": "Ninja",
    "homebrew": "Homebrew", "lerna": "Lerna", "nx": "Nx", "turborepo": "Turborepo", "vite": "Vite",
    "vitejs": "Vite", "webpack": "Webpack", "rollup": "Rollup", "esbuild": "esbuild", "swc": "SWC",
    "babel": "Babel", "parcel": "Parcel", "rspack": "Rspack", "turbopack": "Turbopack",
    "react": "React", "reactjs": "React", "reactnative": "React Native", "preact": "Preact",
    "next.js": "Next.js", "nextjs": "Next.js", "nuxt": "Nuxt", "nuxtjs": "Nuxt", "vue": "Vue",
    "vuejs": "Vue", "vue.js": "Vue", "svelte": "Svelte", "sveltekit": "SvelteKit",
    "angular": "Angular", "angularjs": "AngularJS", "solidjs": "SolidJS", "astro": "Astro",
    "remix": "Remix", "gatsby": "Gatsby", "qwik": "Qwik", "htmx": "htmx", "alpine.js": "Alpine.js",
    "alpinejs": "Alpine.js", "jquery": "jQuery", "lit": "Lit", "redux": "Redux",
    "reduxtoolkit": "Redux", "zustand": "Zustand", "mobx": "MobX", "jotai": "Jotai",
    "recoil": "Recoil", "tanstackquery": "TanStack Query", "reactquery": "TanStack Query",
    "reactrouter": "React Router", "trpc": "tRPC", "apollo": "Apollo", "apollographql": "Apollo",
    "relay": "Relay", "tailwindcss": "Tailwind CSS", "tailwind": "Tailwind CSS",
    "bootstrap": "Bootstrap", "materialui": "Material UI", "mui": "Material UI",
    "chakraui": "Chakra UI", "shadcn/ui": "shadcn/ui", "shadcn": "shadcn/ui",
    "shadcnui": "shadcn/ui", "radixui": "Radix UI", "radix": "Radix UI", "storybook": "Storybook",
    "framermotion": "Framer Motion", "d3.js": "D3.js", "d3": "D3.js", "d3js": "D3.js",
    "three.js": "Three.js", "threejs": "Three.js", "electron": "Electron", "tauri": "Tauri",
    "flutter": "Flutter", "swiftui": "SwiftUI", "uikit": "UIKit",
    "jetpackcompose": "Jetpack Compose", "expo": "Expo", "express": "Express",
    "expressjs": "Express", "express.js": "Express", "fastify": "Fastify", "koa": "Koa",
    "nestjs": "NestJS", "nest.js": "NestJS", "hono": "Hono", "socket.io": "Socket.IO",
    "django": "Django", "djangorestframework": "Django REST Framework",
    "drf": "Django REST Framework", "flask": "Flask", "fastapi": "FastAPI",
    "starlette": "Starlette", "aiohttp": "aiohttp", "tornado": "Tornado", "sanic": "Sanic",
    "litestar": "Litestar", "uvicorn": "Uvicorn", "gunicorn": "Gunicorn", "pydantic": "Pydantic",
    "sqlalchemy": "SQLAlchemy", "sqlmodel": "SQLModel", "alembic": "Alembic", "peewee": "Peewee",
    "tortoiseorm": "Tortoise ORM", "psycopg": "psycopg", "psycopg2": "psycopg",
    "psycopg3": "psycopg", "asyncpg": "asyncpg", "httpx": "httpx", "requests": "Requests",
    "typer": "Typer", "click": "Click", "rich": "Rich", "jinja": "Jinja", "jinja2": "Jinja",
    "structlog": "structlog", "orjson": "orjson", "numpy": "NumPy", "pandas": "pandas",
    "polars": "Polars", "scipy": "SciPy", "scikitlearn": "scikit-learn", "sklearn": "scikit-learn",
    "pytorch": "PyTorch", "torch": "PyTorch", "tensorflow": "TensorFlow", "keras": "Keras",
    "jax": "JAX", "xgboost": "XGBoost", "lightgbm": "LightGBM", "jupyter": "Jupyter",
    "matplotlib": "Matplotlib", "streamlit": "Streamlit", "gradio": "Gradio", "spring": "Spring",
    "springboot": "Spring Boot", "hibernate": "Hibernate", "quarkus": "Quarkus",
    "micronaut": "Micronaut", "ktor": "Ktor", "rails": "Rails", "rubyonrails": "Rails",
    "ror": "Rails", "sinatra": "Sinatra", "laravel": "Laravel", "symfony": "Symfony",
    "phoenix": "Phoenix", "gin": "Gin", "echo": "Echo", "fiber": "Fiber", "actix": "Actix",
    "axum": "Axum", "tokio": "Tokio", "serde": "Serde", "prisma": "Prisma", "drizzle": "Drizzle",
    "drizzleorm": "Drizzle", "typeorm": "TypeORM", "sequelize": "Sequelize", "mongoose": "Mongoose",
    "knex": "Knex", "kysely": "Kysely", "mikroorm": "MikroORM", "flyway": "Flyway",
    "liquibase": "Liquibase", "zod": "Zod", "ajv": "Ajv", "joi": "Joi", "eslint": "ESLint",
    "prettier": "Prettier", "biome": "Biome", "ruff": "Ruff", "black": "Black", "isort": "isort",
    "flake8": "Flake8", "pylint": "Pylint", "mypy": "mypy", "pyright": "Pyright",
    "golangcilint": "golangci-lint", "clippy": "Clippy", "rustfmt": "rustfmt", "rubocop": "RuboCop",
    "shellcheck": "ShellCheck", "precommit": "pre-commit", "husky": "Husky",
    "sonarqube": "SonarQube", "jest": "Jest", "vitest": "Vitest", "mocha": "Mocha", "chai": "Chai",
    "cypress": "Cypress", "playwright": "Playwright", "puppeteer": "Puppeteer",
    "selenium": "Selenium", "pytest": "pytest", "unittest": "unittest", "hypothesis": "Hypothesis",
    "tox": "tox", "nox": "nox", "junit": "JUnit", "mockito": "Mockito", "rspec": "RSpec",
    "testcontainers": "Testcontainers", "msw": "MSW", "k6": "k6", "locust": "Locust",
    "jmeter": "JMeter", "docker": "Docker", "dockercompose": "Docker Compose", "podman": "Podman",
    "containerd": "containerd", "kubernetes": "Kubernetes", "k8s": "Kubernetes",
    "kube": "Kubernetes", "helm": "Helm", "kustomize": "Kustomize", "istio": "Istio",
    "linkerd": "Linkerd", "envoy": "Envoy", "argocd": "Argo CD", "flux": "Flux",
    "knative": "Knative", "k3s": "k3s", "openshift": "OpenShift", "nomad": "Nomad",
    "consul": "Consul", "vault": "Vault", "hashicorpvault": "Vault", "terraform": "Terraform",
    "opentofu": "OpenTofu", "pulumi": "Pulumi", "ansible": "Ansible", "puppet": "Puppet",
    "chef": "Chef", "packer": "Packer", "vagrant": "Vagrant", "cloudformation": "CloudFormation",
    "awscdk": "AWS CDK", "nginx": "NGINX", "caddy": "Caddy", "traefik": "Traefik",
    "haproxy": "HAProxy", "apachehttpserver": "Apache HTTP Server", "httpd": "Apache HTTP Server",
    "aws": "AWS", "amazonwebservices": "AWS", "gcp": "GCP", "googlecloud": "GCP",
    "googlecloudplatform": "GCP", "azure": "Azure", "microsoftazure": "Azure", "s3": "S3",
    "amazons3": "S3", "awss3": "S3", "ec2": "EC2", "ecs": "ECS", "eks": "EKS", "gke": "GKE",
    "aks": "AKS", "rds": "RDS", "amazonrds": "RDS", "aurora": "Aurora", "amazonaurora": "Aurora",
    "awslambda": "AWS Lambda", "apigateway": "API Gateway", "cloudfront": "CloudFront",
    "route53": "Route 53", "cloudflare": "Cloudflare", "cloudflareworkers": "Cloudflare Workers",
    "cloudrun": "Cloud Run", "fargate": "Fargate", "iam": "IAM", "cognito": "Cognito",
    "cloudwatch": "CloudWatch", "vercel": "Vercel", "netlify": "Netlify", "heroku": "Heroku",
    "fly.io": "Fly.io", "render": "Render", "railway": "Railway", "digitalocean": "DigitalOcean",
    "hetzner": "Hetzner", "minio": "MinIO", "github": "GitHub", "gitlab": "GitLab",
    "bitbucket": "Bitbucket", "githubactions": "GitHub Actions", "gitlabci": "GitLab CI",
    "jenkins": "Jenkins", "circleci": "CircleCI", "travisci": "Travis CI", "buildkite": "Buildkite",
    "dependabot": "Dependabot", "renovate": "Renovate", "git": "Git", "mercurial": "Mercurial",
    "prometheus": "Prometheus", "grafana": "Grafana", "loki": "Loki", "jaeger": "Jaeger",
    "zipkin": "Zipkin", "opentelemetry": "OpenTelemetry", "otel": "OpenTelemetry",
    "datadog": "Datadog", "newrelic": "New Relic", "sentry": "Sentry", "honeycomb": "Honeycomb",
    "kibana": "Kibana", "logstash": "Logstash", "fluentd": "Fluentd", "fluentbit": "Fluent Bit",
    "splunk": "Splunk", "pagerduty": "PagerDuty", "posthog": "PostHog", "amplitude": "Amplitude",
    "mixpanel": "Mixpanel", "launchdarkly": "LaunchDarkly", "unleash": "Unleash", "rest": "REST",
    "grpc": "gRPC", "openapi": "OpenAPI", "swagger": "Swagger", "asyncapi": "AsyncAPI",
    "websocket": "WebSocket", "websockets": "WebSocket", "webrtc": "WebRTC", "mqtt": "MQTT",
    "amqp": "AMQP", "http": "HTTP", "https": "HTTPS", "http/2": "HTTP/2", "http/3": "HTTP/3",
    "quic": "QUIC", "tcp": "TCP", "udp": "UDP", "tls": "TLS", "mtls": "mTLS", "ssh": "SSH",
    "dns": "DNS", "jwt": "JWT", "jsonwebtoken": "JWT", "jsonwebtokens": "JWT", "oauth": "OAuth",
    "oauth2": "OAuth", "oauth2.0": "OAuth", "openidconnect": "OpenID Connect",
    "oidc": "OpenID Connect", "saml": "SAML", "ldap": "LDAP", "keycloak": "Keycloak",
    "auth0": "Auth0", "okta": "Okta", "clerk": "Clerk", "nextauth": "NextAuth",
    "nextauth.js": "NextAuth", "authjs": "NextAuth", "passport.js": "Passport.js",
    "bcrypt": "bcrypt", "argon2": "Argon2", "argon2id": "Argon2", "hmac": "HMAC",
    "webauthn": "WebAuthn", "stripe": "Stripe", "paypal": "PayPal", "braintree": "Braintree",
    "adyen": "Adyen", "twilio": "Twilio", "sendgrid": "SendGrid", "mailgun": "Mailgun",
    "postmark": "Postmark", "resend": "Resend", "contentful": "Contentful", "strapi": "Strapi",
    "sanity": "Sanity", "wordpress": "WordPress", "shopify": "Shopify", "langchain": "LangChain",
    "langgraph": "LangGraph", "llamaindex": "LlamaIndex", "haystack": "Haystack", "dspy": "DSPy",
    "crewai": "CrewAI", "autogen": "AutoGen", "semantickernel": "Semantic Kernel",
    "openai": "OpenAI", "anthropic": "Anthropic", "claude": "Claude", "claudecode": "Claude Code",
    "codex": "Codex", "gemini": "Gemini", "gpt4": "GPT-4", "mistral": "Mistral", "llama": "Llama",
    "ollama": "Ollama", "vllm": "vLLM", "llama.cpp": "llama.cpp", "huggingface": "Hugging Face",
    "transformers": "Transformers", "sentencetransformers": "sentence-transformers", "onnx": "ONNX",
    "onnxruntime": "ONNX", "litellm": "LiteLLM", "langsmith": "LangSmith", "langfuse": "Langfuse",
    "mlflow": "MLflow", "weights&biases": "Weights & Biases", "wandb": "Weights & Biases",
    "ray": "Ray", "cuda": "CUDA", "mcp": "MCP", "modelcontextprotocol": "Model Context Protocol",
    "modelcontextprotocolsdk": "Model Context Protocol", "cursor": "Cursor", "copilot": "Copilot",
    "githubcopilot": "Copilot", "vscode": "VS Code", "vim": "Vim", "neovim": "Neovim",
    "emacs": "Emacs", "intellijidea": "IntelliJ IDEA", "intellij": "IntelliJ IDEA",
    "xcode": "Xcode", "linux": "Linux", "ubuntu": "Ubuntu", "debian": "Debian",
    "alpinelinux": "Alpine Linux", "macos": "macOS", "windows": "Windows", "ios": "iOS",
    "android": "Android", "systemd": "systemd", "cron": "cron", "unity": "Unity",
    "unrealengine": "Unreal Engine", "godot": "Godot", "arduino": "Arduino",
    "raspberrypi": "Raspberry Pi", "ros": "ROS", "ffmpeg": "FFmpeg", "imagemagick": "ImageMagick",
    "pandoc": "Pandoc", "latex": "LaTeX", "mermaid": "Mermaid", "plantuml": "PlantUML",
    "kong": "Kong", "hasura": "Hasura", "postgrest": "PostgREST", "appwrite": "Appwrite",
    "nextcloud": "Nextcloud", "backstage": "Backstage", "log4j": "Log4j", "slack": "Slack",
    "jira": "Jira", "confluence": "Confluence", "notion": "Notion", "figma": "Figma",
    "linear": "Linear",
}
PATTERNS = {
    "cursorpagination": "cursor-pagination", "cursorbasedpagination": "cursor-pagination",
    "cursorpaging": "cursor-pagination", "offsetpagination": "offset-pagination",
    "offsetbasedpagination": "offset-pagination", "limitoffsetpagination": "offset-pagination",
    "keysetpagination": "keyset-pagination", "keysetbasedpagination": "keyset-pagination",
    "seekpagination": "keyset-pagination", "rag": "RAG", "retrievalaugmentedgeneration": "RAG",
    "cqrs": "CQRS", "eventsourcing": "event-sourcing", "eventsourced": "event-sourcing",
    "eventdriven": "event-driven", "eventdrivenarchitecture": "event-driven",
    "domaindrivendesign": "domain-driven-design", "ddd": "domain-driven-design",
    "testdrivendevelopment": "test-driven-development", "tdd": "test-driven-development",
    "hexagonalarchitecture": "hexagonal-architecture", "portsandadapters": "hexagonal-architecture",
    "cleanarchitecture": "clean-architecture", "layeredarchitecture": "layered-architecture",
    "microservices": "microservices", "microservicearchitecture": "microservices",
    "microservicesarchitecture": "microservices", "modularmonolith": "modular-monolith",
    "monorepo": "monorepo", "circuitbreaker": "circuit-breaker",
    "circuitbreakers": "circuit-breaker", "exponentialbackoff": "exponential-backoff",
    "ratelimiting": "rate-limiting", "ratelimiter": "rate-limiting",
    "idempotencykeys": "idempotency-keys", "idempotencykey": "idempotency-keys",
    "optimisticlocking": "optimistic-locking", "optimisticconcurrency": "optimistic-locking",
    "pessimisticlocking": "pessimistic-locking", "distributedlock": "distributed-lock",
    "distributedlocking": "distributed-lock", "distributedlocks": "distributed-lock",
    "advisorylock": "advisory-lock", "advisorylocks": "advisory-lock",
    "outboxpattern": "outbox-pattern", "transactionaloutbox": "outbox-pattern",
    "sagapattern": "saga-pattern",
    "repositorypattern": "repository-pattern", "unitofwork": "unit-of-work",
    "unitofworkpattern": "unit-of-work", "dependencyinjection": "dependency-injection",
    "factorypattern": "factory-pattern", "strategypattern": "strategy-pattern",
    "adapterpattern": "adapter-pattern", "observerpattern": "observer-pattern",
    "singletonpattern": "singleton-pattern", "decoratorpattern": "decorator-pattern",
    "featureflags": "feature-flags", "featureflag": "feature-flags",
    "featuretoggles": "feature-flags", "featuretoggle": "feature-flags",
    "bluegreendeployment": "blue-green-deployment", "bluegreendeployments": "blue-green-deployment",
    "bluegreen": "blue-green-deployment", "canaryrelease": "canary-release",
    "canarydeployment": "canary-release", "canaryreleases": "canary-release",
    "rollingdeployment": "rolling-deployment", "rollingupdate": "rolling-deployment",
    "trunkbaseddevelopment": "trunk-based-development", "trunkbased": "trunk-based-development",
    "readreplica": "read-replica", "readreplicas": "read-replica",
    "connectionpooling": "connection-pooling", "connectionpool": "connection-pooling",
    "writeaheadlog": "write-ahead-log", "writeaheadlogging": "write-ahead-log",
    "softdelete": "soft-delete", "softdeletes": "soft-delete", "softdeletion": "soft-delete",
    "harddelete": "hard-delete", "harddeletes": "hard-delete",
    "materializedview": "materialized-view", "materializedviews": "materialized-view",
    "materialisedview": "materialized-view", "changedatacapture": "change-data-capture",
    "cdc": "change-data-capture", "deadletterqueue": "dead-letter-queue",
    "deadletterqueues": "dead-letter-queue", "dlq": "dead-letter-queue",
    "writethroughcache": "write-through-cache", "writethroughcaching": "write-through-cache",
    "writebehindcache": "write-behind-cache", "cacheaside": "cache-aside",
    "lazyloadingcache": "cache-aside", "stalewhilerevalidate": "stale-while-revalidate",
    "serversiderendering": "server-side-rendering", "ssr": "server-side-rendering",
    "staticsitegeneration": "static-site-generation", "ssg": "static-site-generation",
    "codesplitting": "code-splitting", "lazyloading": "lazy-loading",
    "infinitescroll": "infinite-scroll", "optimisticupdate": "optimistic-update",
    "optimisticupdates": "optimistic-update", "optimisticui": "optimistic-update",
    "backendforfrontend": "backend-for-frontend", "bff": "backend-for-frontend",
    "apigatewaypattern": "api-gateway-pattern", "servicemesh": "service-mesh",
    "stranglerfig": "strangler-fig", "stranglerpattern": "strangler-fig",
    "multitenancy": "multi-tenancy", "multitenant": "multi-tenancy",
    "rowlevelsecurity": "row-level-security", "rls": "row-level-security",
    "rolebasedaccesscontrol": "role-based-access-control", "rbac": "role-based-access-control",
    "zerotrust": "zero-trust", "longpolling": "long-polling",
    "serversentevents": "server-sent-events", "sse": "server-sent-events", "pubsub": "pub-sub",
    "publishsubscribe": "pub-sub", "fanout": "fan-out", "mapreduce": "map-reduce",
    "bulkheadpattern": "bulkhead-pattern", "healthcheck": "health-check",
    "healthchecks": "health-check", "structuredlogging": "structured-logging",
    "hybridsearch": "hybrid-search", "semanticsearch": "semantic-search",
    "fulltextsearch": "full-text-search", "vectorsearch": "vector-search",
    "functioncalling": "function-calling", "promptcaching": "prompt-caching",
    "fewshotprompting": "few-shot-prompting", "chainofthought": "chain-of-thought",
    "humanintheloop": "human-in-the-loop", "propertybasedtesting": "property-based-testing",
    "snapshottesting": "snapshot-testing", "contracttesting": "contract-testing",
    "endtoendtesting": "end-to-end-testing", "e2etesting": "end-to-end-testing",
    "goldenfiles": "golden-files", "goldenfile": "golden-files",
    "conventionalcommits": "conventional-commits", "semanticversioning": "semantic-versioning",
    "semver": "semantic-versioning", "infrastructureascode": "infrastructure-as-code",
    "iac": "infrastructure-as-code", "n+1queries": "n+1-queries", "n+1query": "n+1-queries",
    "n+1": "n+1-queries", "n+1problem": "n+1-queries", "godobject": "god-object",
    "godclass": "god-object", "barrelfiles": "barrel-files", "barrelfile": "barrel-files",
    "barrelimports": "barrel-files", "defaultexports": "default-exports",
    "defaultexport": "default-exports", "namedexports": "named-exports",
    "namedexport": "named-exports",
}
# fmt: on

# A hyphenated name with one of these heads is a pattern: `token-pagination`, `jwt-auth`.
PATTERN_HEADS = frozenset(
    """pagination sourcing caching locking batching sharding partitioning polling throttling
    debouncing memoization hydration rendering retries backoff pooling versioning pattern
    architecture replication streaming chunking reranking""".split()
)

# Names that are ordinary words too: they count only as written above, never as `go` or `react`.
ORDINARY = frozenset(
    """apollo astro aurora babel backstage black bootstrap bun cargo cdc chai chef chroma clerk
    click consul copilot cursor dart drizzle echo ecs elastic envoy express fiber flink flux
    gatsby gin go hatch haystack honeycomb husky hypothesis iam joi julia kinesis kong
    linear lit llama locust loki mermaid meson mistral msw neon ninja node nomad notion
    packer parcel poetry prefect puppet rabbit radix rag rails railway ray rds react recoil
    relay remix render requests resend rest rich rollup ros saml sanity slack snowflake sns
    spark spring swift temporal tornado transformers unity unleash vagrant vault windows""".split()
)


def canonical(name: str) -> str:
    """Return our spelling of a technology or pattern; any other name unchanged."""
    key = name_key(name)
    return TECHNOLOGIES.get(key) or PATTERNS.get(key) or name


def is_agent(name: str) -> bool:
    """Return True for an agent's name: a known one, or hyphenated with a role at its end."""
    if name in KNOWN_AGENTS:
        return True
    parts = name.split("-")
    if len(parts) < 2 or parts[-1] not in AGENT_ROLES or parts[0] in _NOT_AGENT_STARTS:
        return False
    return all(part.isalnum() and part.islower() for part in parts)


def entity_type(name: str) -> str:
    """Return `agent`, `technology` or `pattern` if the vocabulary knows the name, else ''."""
    if is_agent(name):
        return "agent"
    key = name_key(name)
    if key in TECHNOLOGIES:
        return "technology"
    if key in PATTERNS:
        return "pattern"
    _, hyphen, head = name.rpartition("-")
    return "pattern" if hyphen and head.lower() in PATTERN_HEADS else ""


def agent_terms(agent_type: str) -> tuple[str, ...]:
    """Return the domain terms of an agent type: a known one, or one made of known words.

    A technology in the name is a term of its own (`postgres-expert`); one that is also an ordinary
    word only before a role (`go-developer`, not `go-around`).
    """
    known = AGENT_TERMS.get(agent_type.lower())
    if known:
        return known
    parts = agent_type.lower().replace("_", "-").split("-")
    is_person = parts[-1] in AGENT_ROLES or parts[-1] in _PERSONS
    found: list[str] = []
    for part in parts:
        technology = TECHNOLOGIES.get(part)
        if technology and (is_person or part not in ORDINARY):
            found.append(technology)
        found += ROLE_TERMS.get(part, ())
    return tuple(dict.fromkeys(found))
