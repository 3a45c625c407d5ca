"""Server-side assignors (KIP-848): they compute the target assignment of a consumer group."""

from typing import Final

from gralha.groups.assignors import range as range_assignor
from gralha.groups.assignors import uniform
from gralha.groups.assignors.spec import Assignment, Assignor, AssignorMember

ASSIGNORS: Final[dict[str, Assignor]] = {"range": range_assignor.assign, "uniform": uniform.assign}

__all__ = ["ASSIGNORS", "Assignment", "Assignor", "AssignorMember"]
