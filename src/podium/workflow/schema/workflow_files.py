"""What `workflow:` names: a file of this repository or of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from podium.fast_dataclass import dataclass
from podium.workflow.schema.fields import InvalidValue, Scalar
from podium.workflow.schema.scalars import INSERT, INSERTED, TEXT, TEXTS


@dataclass(frozen=True, slots=True)
class FileElsewhere:
    """A workflow file of another repository; `folder` leads there from the top of the project."""

    file: str
    folder: str

    def __str__(self) -> str:
        return f"{self.file} in {self.folder}"


def workflow_file(value: Any) -> str | FileElsewhere:
    """A file. A map with a choice is expanded when files are merged, unless it has a mistake."""
    if isinstance(value, str) and INSERT not in value:
        return value
    if isinstance(value, Mapping) and value.keys() == {"file", "in"}:
        file, folder = value["file"], value["in"]
        if isinstance(file, str) and isinstance(folder, str) and INSERT not in file + folder:
            return FileElsewhere(file, folder)
        raise InvalidValue(
            'a file and a folder, or {file: a.yaml, in: "${{ ... }}", of: [../api, ../web]} with the folders to choose from'
        )
    raise InvalidValue(
        'a file, or {file: "${{ ... }}", of: [a.yaml, b.yaml]} with two or more files, or {file: a.yaml, in: ../folder} '
        "for a file of another repository"
    )


WorkflowFile: TypeAlias = Annotated[
    str | FileElsewhere,
    Scalar(
        workflow_file,
        {
            "anyOf": [
                TEXT,
                {
                    "type": "object",
                    "properties": {
                        "file": INSERTED,
                        "of": TEXTS | {"minItems": 2},
                    },
                    "required": ["file", "of"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"file": TEXT, "in": TEXT, "of": TEXTS | {"minItems": 2}},
                    "required": ["file", "in"],
                    "additionalProperties": False,
                },
            ]
        },
    ),
]
