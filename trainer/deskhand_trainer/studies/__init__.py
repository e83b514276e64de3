"""Studies: registered before they are run, every arm reported, failures too."""
