"""Parts of the prose check: the rules, the text model, and one collector for each kind of file."""
