"""Activities that a rule can be bound to: their names, commands, scripts and files.

A command is its first words without options; `*` stands for any word. A script is one of
package.json, make or a task runner, whose name begins with the word (`deploy:prod`, `deploy-web`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Activity(NamedTuple):
    """The names by which `When:` means an activity, and the tool calls that are part of it."""

    names: frozenset[str]
    commands: tuple[tuple[str, ...], ...]
    scripts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def commands_named(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the commands that a text names, between commas, as words."""
    return tuple(tuple(command.split()) for command in text.split(","))


def _names(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


ACTIVITIES: Mapping[str, Activity] = {
    "commit": Activity(
        _names("commit, commits, committing, git commit, git commits, making a commit, a commit"),
        commands_named("git commit, hg commit, svn commit, jj commit"),
    ),
    "push": Activity(
        _names("push, pushes, pushing, git push, pushing to git, pushing to the remote"),
        commands_named("git push, git subtree push, git send-pack, jj git push, hg push"),
    ),
    "deploy": Activity(
        _names("deploy, deploys, deploying, deployment, deployments, deploy to production,"
               " deploying to production, production deploy, production deployment"),
        commands_named("""
fly deploy, vercel deploy, vercel, netlify deploy, wrangler deploy, wrangler publish,
wrangler pages deploy, railway up, heroku container:release, firebase deploy, gcloud app deploy,
gcloud run deploy, gcloud functions deploy, az webapp up, az webapp deploy, eb deploy,
amplify publish, cdk deploy, sam deploy, serverless deploy, pulumi up, terraform apply,
tofu apply, terragrunt apply, kubectl apply, kubectl set image, kubectl rollout restart,
kubectl rollout undo, oc apply, helm install, helm upgrade, helmfile apply, helmfile sync,
argocd app sync, skaffold run, docker stack deploy, nomad job run, aws cloudformation deploy,
aws lambda update-function-code, aws ecs update-service, ansible-playbook *deploy*, cf push,
kamal deploy, cap * deploy, fab deploy, rake deploy, mvn deploy, gradle deploy*, ng deploy,
dokku deploy, git push heroku, git push dokku, supabase functions deploy, convex deploy, surge
"""),
        ("deploy",),
    ),
    "release": Activity(
        _names("release, releases, releasing, publish, publishing, publishing a release,"
               " publishing a package, making a release"),
        commands_named("""
npm publish, pnpm publish, yarn publish, yarn npm publish, bun publish, cargo publish,
twine upload, uv publish, poetry publish, gem push, gh release create, goreleaser release,
changeset publish, semantic-release, mvn deploy, dotnet nuget push, mix hex.publish
"""),
        ("release", "publish"),
    ),
    "test": Activity(
        _names("test, tests, testing, running tests, running the tests, run tests, run the tests,"
               " test run, test runs"),
        commands_named("""
pytest, python -m pytest, python -m unittest, tox, nox, vitest, jest, mocha, ava, playwright test,
cypress run, karma start, bun test, deno test, cargo test, cargo nextest, go test, mix test,
rspec, rails test, rake test, rake spec, phpunit, pest, php artisan test, dotnet test, mvn test,
gradle test, ctest, swift test, flutter test, sbt test
"""),
        ("test",),
    ),
    "migration": Activity(
        _names("migration, migrations, migrate, migrating, database migration,"
               " database migrations, db migration, db migrations, schema migration,"
               " schema migrations, running migrations, running a migration, run migrations,"
               " writing migrations, writing a migration"),
        commands_named("""
rails db:migrate, rails db:rollback, rake db:migrate, mix ecto.migrate, mix ecto.rollback,
mix ecto.gen.migration, alembic upgrade, alembic downgrade, alembic revision, flask db *,
prisma migrate dev, prisma migrate deploy, prisma migrate reset, prisma db push,
knex migrate:latest, knex migrate:up, knex migrate:rollback, knex migrate:make,
sequelize db:migrate, sequelize-cli db:migrate, typeorm migration:run, drizzle-kit migrate,
drizzle-kit push, drizzle-kit generate, supabase db push, supabase migration up,
supabase migration new, flyway migrate, liquibase update, goose up, dbmate up, dbmate migrate,
diesel migration run, diesel migration redo, diesel migration generate, sqlx migrate run,
sqlx migrate add, php artisan migrate, dotnet ef migrations add, dotnet ef migrations remove,
dotnet ef database update, python manage.py migrate, python manage.py makemigrations,
python ./manage.py migrate, python ./manage.py makemigrations, ./manage.py migrate,
./manage.py makemigrations, django-admin migrate
"""),
        ("migrate", "migration", "migrations", "db:migrate", "db:push"),
        ("**/migrations/**", "**/migrate/**", "**/alembic/versions/**"),
    ),
    "dependency": Activity(
        _names("adding a dependency, adding dependencies, add a dependency, new dependency,"
               " new dependencies, installing a package, installing packages, adding a package,"
               " adding packages, installing dependencies, adding a library"),
        commands_named("""
npm install *, npm i *, npm add *, pnpm add, pnpm install *, yarn add, bun add, bun install *,
pip install *, python -m pip install *, uv add, uv pip install *, poetry add, pdm add,
pipenv install *, conda install, cargo add, go get, gem install, bundle add, composer require,
dotnet add package, flutter pub add
"""),
    ),
    "dev server": Activity(
        _names("dev server, development server, starting the dev server, starting a dev server,"
               " running the dev server, start the dev server, run the dev server,"
               " starting the development server, starting the server, starting a server,"
               " running the server"),
        commands_named("""
vite, vite dev, vite serve, next dev, nuxt dev, nuxi dev, astro dev, remix dev, svelte-kit dev,
ng serve, vue-cli-service serve, react-scripts start, gatsby develop, webpack serve,
webpack-dev-server, parcel serve, hugo server, jekyll serve, rails server, rails s,
mix phx.server, python manage.py runserver, ./manage.py runserver, flask run, uvicorn, hypercorn,
php artisan serve, php -S, wrangler dev, nodemon
"""),
        ("dev", "start", "serve", "develop"),
    ),
    "build": Activity(
        _names("build, builds, building, running the build, running a build, run the build"),
        commands_named("""
vite build, next build, nuxt build, astro build, webpack, rollup, cargo build, go build,
gradle build, mvn package, dotnet build, docker build, docker compose build, mix release,
python -m build
"""),
        ("build",),
    ),
    "delete": Activity(
        _names("delete, deletes, deleting, deletion, deletions, deleting files, deleting data,"
               " removing files, removing data"),
        commands_named("""
rm, rmdir, unlink, shred, trash, find -delete, git rm, git clean, git branch -d, git branch -D,
git tag -d, git push -d, git stash drop, git stash clear, docker rm, docker rmi, docker volume rm,
docker volume prune, docker system prune, docker compose down -v, kubectl delete, helm uninstall,
terraform destroy, tofu destroy, pulumi destroy, dropdb, prisma migrate reset, rails db:drop,
gh repo delete, aws s3 rm, aws s3 rb, gsutil rm, npm unpublish, fly destroy, vercel remove
"""),
    ),
}  # fmt: skip
# What cannot be taken back: a rule that asks about it asks each time.
FINAL = ("push", "deploy", "release", "delete")
# Programs that name a platform, so that "Vercel deployment" means its own commands only.
PLATFORMS = frozenset(
    """fly vercel netlify wrangler railway heroku firebase gcloud az eb amplify cdk sam serverless
    pulumi terraform kubectl helm kamal supabase convex prisma alembic knex drizzle-kit django rails
    npm pypi cargo pytest vitest jest playwright cypress vite next""".split()
)
# Other names of platforms.
PLATFORM_NAMES = {"fly.io": "fly", "flyio": "fly", "cloudflare": "wrangler", "next.js": "next",
                  "kubernetes": "kubectl", "drizzle": "drizzle-kit"}  # fmt: skip
_BY_NAME = {name: key for key, activity in ACTIVITIES.items() for name in activity.names}


def named(text: str) -> tuple[str, str] | None:
    """Return the activity that a lower-case text means, and the platform that it names or ''."""
    if text in _BY_NAME:
        return _BY_NAME[text], ""
    first, _, rest = text.partition(" ")
    platform = PLATFORM_NAMES.get(first, first)
    if platform in PLATFORMS and rest in _BY_NAME:
        return _BY_NAME[rest], platform
    return None
