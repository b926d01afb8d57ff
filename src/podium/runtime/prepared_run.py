"""A run that this machine is ready to drive."""

from __future__ import annotations

from podium.attempt.host import Host
from podium.core.hash_chain import RunId
from podium.core.model import Workflow
from podium.fast_dataclass import dataclass
from podium.tasks.prior_results import PriorResults


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    workflow: Workflow
    host: Host
    past: PriorResults | None = None
    """The results of the run that this one continues."""

    @property
    def id(self) -> RunId:
        return self.host.run
