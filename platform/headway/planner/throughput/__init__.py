"""How fast a training step is: physics with few fitted constants, corrected by measured rows."""
