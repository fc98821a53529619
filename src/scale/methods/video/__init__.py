"""Parts for frames in the order of time: motion, and a point of attention."""
