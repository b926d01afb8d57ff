# Stands for your CI: `ci.sh log` prints what fails, `ci.sh status` says by its exit code whether all is green.
case "$1" in
  log) python3 -m unittest -q 2>&1 || true ;;
  status) python3 -m unittest -q ;;
esac
