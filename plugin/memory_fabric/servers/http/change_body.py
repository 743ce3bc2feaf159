"""The body of a request for a change: one model for each action."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints, ValidationError

from memory_fabric.capture.remember import MAX_TEXT_CHARS
from memory_fabric.servers.http.json_body import object_in, of_field

MAX_NAME_CHARS, MAX_MANY = 4096, 100
ACTIONS = frozenset("edit keep drop replace holds pin unpin forget merge undo".split())

Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f-]{6,36}$")]
Code = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}$")]
Text = Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_CHARS)]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class Shown(_Body):
    """A memory as it was shown."""

    id: Id = Field(description="Its id, or the end of it.")
    version: Code = Field(description="`version` of the picture that showed it.")


class EditBody(_Body):
    """Change the words, type, scope or reason of a memory, as `memory-fabric edit` does."""

    action: Literal["edit"]
    record: Shown
    text: Text | None = Field(None, description="The new wording.")
    type: Name | None = Field(None, description="The new type.")
    scope: Name | None = Field(None, description="The new scope.")
    why: Text | None = Field(None, description="The new reason; '' removes it.")
    when: Text | None = Field(None, description="In what it applies; '' removes it.")
    instead_of: list[Shown] = Field(
        [], max_length=MAX_MANY, description="Memories that are closed in favour of this one."
    )


class RecordBody(_Body):
    """Decide on one memory: keep it, drop a candidate, let it replace what it contradicts, confirm
    that it holds, pin or unpin it.
    """

    action: Literal["keep", "drop", "replace", "holds", "pin", "unpin"]
    record: Shown


class _Confirmed(_Body):
    code: Code | None = Field(
        None, description="The code of the preview; without it nothing is changed."
    )


class ForgetBody(_Confirmed):
    """Forget what an id, a name or words mean, as `memory-fabric forget` does."""

    action: Literal["forget"]
    what: Name = Field(description="An id, an entity's name, or words.")


class MergeBody(_Confirmed):
    """Merge entities into one, as `memory-fabric merge` does."""

    action: Literal["merge"]
    into: Name = Field(description="The entity to keep.")
    names: list[Name] = Field(
        min_length=1, max_length=MAX_MANY, description="The entities to merge into it."
    )


class UndoBody(_Confirmed):
    """Take back a change, as `memory-fabric undo` does."""

    action: Literal["undo"]
    id: Id | None = Field(None, description="The change; by default the last one.")


Asked = EditBody | RecordBody | ForgetBody | MergeBody | UndoBody


class ChangeBody(RootModel[Annotated[Asked, Field(discriminator="action")]]):
    """One change of the memory."""


def change_in(content_type: str, body: bytes) -> Asked:
    """Parse a request. Raises Refused: 400 unless it is a JSON object, 422 for an invalid field."""
    value = object_in(content_type, body)
    try:
        return ChangeBody.model_validate(value).root
    except ValidationError as error:
        raise of_field(error, ACTIONS) from error
