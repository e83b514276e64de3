"""Work on the store that is done here, or asked of a platform: checks, collections, scoring."""
