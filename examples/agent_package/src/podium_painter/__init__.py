"""The painter as an agent of Podium: what it says about itself."""

from podium.ports.agent_type import AgentType, Capabilities, Credentials

COLOURS = ("red", "green", "blue")
AGENT = AgentType(
    name="painter",
    make="podium_painter.agent:Painter",
    capabilities=Capabilities(
        tools=False,
        continuity="",
        price="reported",
        needs="bubblewrap",
        settings={"colour": {"enum": COLOURS}},
    ),
    credentials=Credentials(keys=("PAINTER_KEY",)),
    program="painter",
    tested="1.2.0",
    model="watercolour-1",
)
