"""LangGraph with its SQLite saver, one durable no-op step after the other; run by bench/engine.py in its own environment.

Prints seconds of processor time per step. Its database is set to the same durability as ours.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found,unused-ignore]
from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found,unused-ignore]


class Count(TypedDict):
    n: int


def main(steps: int) -> float:
    graph = StateGraph(Count)
    graph.add_node("step", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["n"] < steps else END)
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "peer.db", check_same_thread=False)
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        chain = graph.compile(checkpointer=SqliteSaver(connection))
        config = {"configurable": {"thread_id": "one"}, "recursion_limit": steps + 10}
        began = time.process_time()
        # Sync: each step is stored before the next one starts, as ours is.
        chain.invoke({"n": 0}, config, durability="sync")
        took = time.process_time() - began
        connection.close()
    return took / steps


if __name__ == "__main__":
    print(main(int(sys.argv[1])))
