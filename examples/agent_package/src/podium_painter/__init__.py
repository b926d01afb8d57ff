"""The painter as an agent of Podium: what it says about itself."""

from typing import Literal, get_args

from podium.ports import agent_keys
from podium.ports.agent_keys import AgentKey
from podium.ports.agent_type import AgentType, Capabilities, Credentials

Colour = Literal["red", "green", "blue"]
COLOURS = get_args(Colour)
AGENT = AgentType(
    name="painter",
    make="podium_painter.agent:Painter",
    capabilities=Capabilities(
        tools=False,
        continuity="",
        price="reported",
        needs="bubblewrap",
        keys={
            "command": AgentKey(str, "the program"),
            "key": agent_keys.KEY,
            "colour": AgentKey(Colour, "what to paint with", "red"),
        },
    ),
    credentials=Credentials(keys=("PAINTER_KEY",)),
    program="painter",
    tested="1.2.0",
    model="watercolour-1",
)
