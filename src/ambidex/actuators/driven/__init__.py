"""Motors behind a described drive: how strong each is, limb by limb."""
