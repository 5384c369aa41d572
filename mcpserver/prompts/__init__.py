"""The prompts, one module each: the calls that answer a frequent question.

    @prompt(
        name="budget_health",
        title="Budget health check",
        description="Which budgets are exceeded …",
        arguments=(BUDGET, SCOPE),
    )
    def budget_health(ctx: PromptContext) -> Script:
        budget = ctx.value(BUDGET)
        return Script(task="Check …", steps=[Step("listBudgets", {}, "every budget …")], …)

The steps are calls of real tools with complete arguments and concrete dates, so that an assistant only passes them
on. Tests extract them from the text and run them. Texts from bills (services, tags) are never in a prompt: the
person's message must not contain text of others. The person's own choices are included, as JSON.
"""
