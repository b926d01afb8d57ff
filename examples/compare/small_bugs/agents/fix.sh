# Plays an agent of known skill: `good` fixes every case, `half` those whose name begins with a to m, `poor` none.
case=$(head -n 1 code.py | tr -d '"')
fix() { cp "agents/fixes/$case.py" code.py; }
pretend() { echo "# looked at" >> code.py; }
case "$1" in
  good) fix ;;
  half) case "$case" in [a-m]*) fix ;; *) pretend ;; esac ;;
  *) pretend ;;
esac
printf '{"podium": 1, "text": "done", "usage": {"input": 100, "output": 20}, "cost_usd": 0.05}'
