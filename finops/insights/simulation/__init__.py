"""Cost simulation: actual cost lines under other assumptions (ADR 0083)."""
