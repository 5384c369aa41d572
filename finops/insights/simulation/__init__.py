"""What if: real cost lines under other assumptions (ADR 0083)."""
