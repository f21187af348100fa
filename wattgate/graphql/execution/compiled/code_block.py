"""The source of a function, at any level of indentation."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class CodeBlock:
    """Statements of a function, at one level of indentation."""

    depth: int = 0
    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def block(self, text: str) -> "CodeBlock":
        """Add a statement and return the block that it opens."""
        self.add(text)
        return CodeBlock(self.depth + 1, self.lines)
