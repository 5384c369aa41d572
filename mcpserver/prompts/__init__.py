"""The prompts, a module each: which calls answer one question that people ask again and again.

    @prompt(
        name="budget_health",
        title="Budget health check",
        description="Which budgets are exceeded …",
        arguments=(BUDGET, SCOPE),
    )
    def budget_health(ctx: PromptContext) -> Script:
        budget = ctx.value(BUDGET)
        return Script(task="Check …", steps=[Step("listBudgets", {}, "every budget …")], …)

The steps are calls of real tools with whole arguments, dates worked out, so that an assistant only has to pass them on.
Tests read them out of the text and run them. What bills say (services, tags) never stands in a prompt: the person's
message is no place for text of others. What the person chose does, as JSON.
"""
