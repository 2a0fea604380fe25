"""Tags and filters of templates. `TEMPLATES` in `config/settings.py` has the name under which each is
loaded."""
