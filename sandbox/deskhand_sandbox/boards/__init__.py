"""Rules of boards, without pictures: worlds show them, tasks draw and solve them, a trainer plays on them."""
