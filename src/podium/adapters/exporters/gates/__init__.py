"""The `.workflow/` folder of a run whose file is in the gates format."""
