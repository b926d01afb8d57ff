"""The expression language: values and their bounds, operators, functions, templates with ${{ }}."""
