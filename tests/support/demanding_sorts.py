"""The sorts of the registry of demanding functions, see `demanding_functions`.

A list that a caller, stored rows or time can make long has its bound in the package. All others are sorted in rows of
one reason.
"""

from tests.support.demand import Demand

SORTS = (
    Demand(
        "none: The package itself defines the items.",
        "none: They are less than a few hundred.",
        (
            "app.server.pages.page_routes:_templates calls sorted",
            "app.server.pages.page_routes:shell_files calls sorted",
            "app.server.gate.response_headers:__init__ calls sorted",
            "db.row_security:_policy_statements calls sorted",
            "db.scope.tenancy_guard:require_tenant_scope calls sorted",
            "delivery.channels.mail:_check_round_trip calls sorted",
            "energy.costs.tariffs:_part_problems calls sorted",
            "operations.vocabulary.scalars:declare_enum calls sorted",
            "reading_files.csv_columns:from_header calls sorted",
            "values.toml_files:toml_names calls sorted",
            "rest_compat.error_responses:respond calls sorted",
            "rest_compat.openapi.document:_by_endpoint calls sorted",
            "rest_compat.openapi.document:build_openapi_document calls sorted",
            "rest_compat.openapi.errors:error_responses calls sorted",
            "rest_compat.openapi.errors:error_schemas calls sorted",
            "rest_compat.routes:build_routes calls sorted",
            "time_zones:_zones_by_spelling calls sorted",
        ),
    ),
    Demand(
        "none: The operator has as many applications, keys, servers or partitions as it sets up.",
        "none: The gateway itself or a command does it.",
        (
            "app.workers.deliveries:_claim_limits calls sorted",
            "db.key_rotation:count_secrets calls sorted",
            "db.readings.partitions:_find_missing calls sorted",
            "db.readings.partitions:drop_empty_partitions calls sorted",
            "db.readings.partitions:find_missing_upcoming calls sorted",
            "operations.accounts.audit:audited_applications calls sorted",
            "operations.homes.paired_displays:applications_with_old_pairings calls sorted",
            "operations.readings.files.file_targets:find calls sorted",
            "operations.readings.files.reading_imports:applications_with_home calls sorted",
            "realtime.bus.primary:_ask calls sorted",
            "realtime.redis_url:_parse_options calls sorted",
        ),
    ),
    Demand(
        "operations.webhooks.webhook_endpoints:MAX_EVENTS_PER_CALL",
        "operations.vocabulary.cost_weights:DELIVERY_WEIGHT",
        ("operations.messages.webhook_events:enqueue_again calls sorted",),
    ),
    Demand(
        "price_sources.answers:MAX_PRICES",
        "none: A command of the operator reads one answer of a price source.",
        (
            "price_sources.answers:_with_ends calls sorted",
            "price_sources.answers:_without_contradictions calls sorted",
        ),
    ),
    Demand(
        "operations.readings.files.uploaded_files:MAX_LINES",
        "operations.readings.files.uploaded_files:FileWork",
        (
            "energy.repeated_hours:_is_only_repeated_time calls sorted",
            "operations.readings.files.file_import:_build_batch calls np.unique",
            "operations.readings.files.file_targets:_narrow calls sorted",
            "operations.readings.files.uploaded_files:_listed calls sorted",
            "reading_files.derived_energy:common_spacing_ms calls np.unique",
            "reading_files.inspection:_read calls np.unique",
        ),
    ),
    Demand(
        "values.annotations:MaxCharacters",
        "none: The text has at most some hundred characters.",
        (
            "db.identity.password_rules:_context_words calls sorted",
            "db.identity.password_rules:find_username_flaw calls sorted",
            "operations.accounts.oauth:parse_scope calls sorted",
        ),
    ),
    Demand(
        "db.models.tenancy:Quota",
        "graphql.cost.operation_charge:OperationCharge",
        (
            "db.credential_changes:accounts_with_changed_roles calls sorted",
            "db.column_types:process_bind_param calls sorted",
            "db.queries.devices:resources calls sorted",
            "db.queries.displays:display_resources calls sorted",
            "db.queries.virtual_entities:devices calls sorted",
            "db.queries.virtual_entities:time_zones calls sorted",
            "energy.ownership:find_ownership calls sorted",
            "energy.costs.pricing:build_bill calls sorted",
            "energy.costs.timeline:earlier_block_starts calls sorted",
            "operations.content:faqs calls sorted",
            "operations.flexibility:_choose_meter_point calls sorted",
            "operations.accounts.profiles:account_profiles calls sorted",
            "operations.templates.template_previews:_coverage calls sorted",
            "operations.core.home_events:emit_homes_of_resources_changed calls sorted",
            "operations.core.home_events:emit_resources_changed calls sorted",
            "operations.personal_data.erasures:_erase_by_address calls sorted",
            "operations.personal_data.erasures:_part_with_home calls sorted",
            "operations.personal_data.erasures:_give_records calls sorted",
            "operations.moves.move_plans:_plan_home calls sorted",
            "operations.alerts.alert_rules:_find_home_id calls sorted",
            "operations.tenancies.withdrawals:_delete_copies calls sorted",
            "db.readings.reading_store:_withdraw calls sorted",
            "db.readings.withdrawals:withdraw calls sorted",
        ),
    ),
    Demand(
        "db.queries.series.price_windows:MAX_SEARCH",
        "graphql.cost.operation_charge:OperationCharge",
        ("energy.costs.price_windows:cheapest_parts calls sorted",),
    ),
    Demand(
        "energy.buckets:MAX_BUCKETS",
        "graphql.cost.operation_charge:OperationCharge",
        (
            "db.queries.series.readings:complete_to calls sorted",
            "energy.buckets:refine_grid calls sorted",
        ),
    ),
    Demand(
        "db.queries.alert_rules:MAX_BACK_TEST_DAYS",
        "graphql.cost.operation_charge:OperationCharge",
        ("db.queries.alert_rules:_replay_silence calls sorted",),
    ),
    Demand(
        "energy.costs.tariffs:MAX_COMPONENTS",
        "graphql.cost.operation_charge:OperationCharge",
        ("energy.costs.timeline:_window_changes calls sorted",),
    ),
    Demand(
        "energy.costs.tariffs:MAX_PARTS",
        "graphql.cost.operation_charge:OperationCharge",
        (
            "energy.costs.tariffs:_intervals calls sorted",
            "energy.costs.tariffs:_bands_problems calls sorted",
            "energy.costs.tariffs:seasons calls sorted",
        ),
    ),
    Demand(
        "values.annotations:MaxItems",
        "graphql.cost.operation_charge:OperationCharge",
        (
            "db.readings.recording:from_rows calls sorted",
            "db.readings.tariff_price_store:upsert calls sorted",
        ),
    ),
    Demand(
        "operations.readings.bulk_recorder:BATCH_SIZE",
        "graphql.cost.operation_charge:OperationCharge",
        ("operations.readings.bulk_recorder:_store_batch calls sorted",),
    ),
    Demand(
        "operations.readings.meter_messages:MAX_MESSAGES",
        "none: The gateway itself reads the messages of devices.",
        (
            "operations.readings.meter_messages:_to_columns calls sorted",
            "operations.readings.meter_messages:record_meter_messages calls sorted",
        ),
    ),
    Demand(
        "delivery.templates.language.engine:MAX_SOURCE_LENGTH",
        "graphql.cost.operation_charge:OperationCharge",
        (
            "delivery.templates.report:_ordered calls sorted",
            "delivery.templates.style_check:_find_weak calls sorted",
            "delivery.templates.language.variables:find_variables calls sorted",
        ),
    ),
    Demand(
        "graphql.execution.documents.document_limits:DocumentLimits",
        "graphql.execution.documents.document_limits:parse_cost",
        ("graphql.execution.documents.documents:_read calls sorted",),
    ),
    Demand(
        "operations.messages.mail:MAX_KEPT_MAILS",
        "none: Production has no outbox of mails that are not sent.",
        ("app.server.pages.mail_outbox:list_mails calls sorted",),
    ),
    Demand(
        "access_log:MAX_PENDING_COUNTERS",
        "none: The worker of the access log stores what it has counted.",
        ("db.rows.rows:add_counts calls sorted",),
    ),
    Demand(
        "energy.display.ambient:LEARNING_DAYS",
        "graphql.cost.operation_charge:OperationCharge",
        ("energy.display.ambient:_learn_levels calls sorted",),
    ),
    Demand(
        "energy.freshness:learning_sample_count",
        "graphql.cost.operation_charge:OperationCharge",
        ("energy.freshness:learn_interval calls sorted",),
    ),
    Demand(
        "app.settings:ClientLimitSettings",
        "none: One check looks at the callers of all connections of the process.",
        ("db.identity.credential_states:batches calls sorted",),
    ),
    Demand(
        "db.models.tenancy:Quota",
        "none: A command repeats the tenancies of a meter point after a restore, which has at most 1,000.",
        (
            "operations.tenancies.listed_tenancies:_end_stays calls sorted",
            "operations.tenancies.listed_tenancies:repeat_tenancies_at calls sorted",
        ),
    ),
    Demand(
        "db.stored_events:LATE_SECONDS",
        "none: The gateway itself reads the changes of credentials and records.",
        ("db.stored_events:_pass_old calls sorted",),
    ),
    Demand(
        "realtime.bus.memory:MAX_ENTRIES",
        "graphql.cost.operation_charge:OperationCharge",
        ("realtime.subscriptions.stream_group:_recover calls sorted",),
    ),
    Demand(
        "realtime.subscriptions.backfill:MAX_PAYLOADS",
        "graphql.cost.operation_charge:OperationCharge",
        ("realtime.subscriptions.backfill:_load_readings calls sorted",),
    ),
    Demand(
        "operations.core.input_limits:MAX_LIST_ITEMS",
        "graphql.cost.operation_charge:OperationCharge",
        (
            "realtime.subscriptions.freshness_reducers:topics_of_devices calls sorted",
            "realtime.subscriptions.snapshot_group:_update_topics calls sorted",
            "realtime.subscriptions.subscriber_group:__init__ calls sorted",
        ),
    ),
)
