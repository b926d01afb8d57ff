"""The local runtime: own a run, keep its log, perform effects, write its folder."""
