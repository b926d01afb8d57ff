"""The one place that starts processes, masks what they say, ends all they began, and opens paths that others named."""

from podium.process.capture import Captured, OnOutput, OutputLimits, StreamName
from podium.process.environment import minimal_env
from podium.process.launch import Finished, Launch
from podium.process.limits import Limits
from podium.process.mask import Mask, MaskStream
from podium.process.paths import inside, open_inside
from podium.process.run import completed, run, unstarted
from podium.process.sweep import sweep

__all__ = [
    "Captured",
    "Finished",
    "Launch",
    "Limits",
    "Mask",
    "MaskStream",
    "OnOutput",
    "OutputLimits",
    "StreamName",
    "completed",
    "inside",
    "minimal_env",
    "open_inside",
    "run",
    "sweep",
    "unstarted",
]
