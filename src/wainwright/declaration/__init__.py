"""release.toml: from its text to frozen values, from those to jobs, with every mistake found at once."""
