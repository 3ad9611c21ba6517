"""Where the source comes from: a folder, a published sdist, a revision in git."""
