"""The registry of demanding functions: for each call site, where its bound is in the code, and where its charge is.

`tests/test_demanding_functions.py` finds the call sites, see `demanding_calls`. A new one needs a row here.
"""

from tests.support.demand import Demand
from tests.support.demanding_sorts import SORTS

DEMANDS = (
    Demand(
        "db.identity.passwords:HashPool",
        "db.identity.login_backoff:LoginAttempt.verify",  # operations: also PASSWORD_HASH_WEIGHT; Basic: `charge_hash`
        (
            "db.identity.passwords:_verify calls HASHER.verify",
            "db.identity.passwords:hash_password calls HASHER.hash",
            "db.identity.passwords:hash_password calls HASH_POOL.run",
            "db.identity.passwords:password_matches calls HASH_POOL.run",
        ),
    ),
    Demand(
        "graphql.execution.documents.document_limits:DocumentLimits",
        "graphql.execution.documents.document_limits:parse_cost",
        (
            "graphql.execution.documents.document_limits:parse_document calls parse_text",
            "graphql.execution.documents.documents:_read calls validate",
        ),
    ),
    Demand(
        "requests.request_limits:check_structure",
        "graphql.execution.pipeline:GraphQLPipeline.charge_request",  # before the body is read, see `BodyReader`
        (
            "graphql.transport.http:parse_body calls _REQUEST.decode",
            "graphql.transport.http:parse_query_string calls msgspec.json.decode",
            "graphql.transport.http:parse_query_string calls parse_qsl",
        ),
    ),
    Demand(
        "requests.request_limits:check_structure",
        "requests.request_limits:size_cost",
        (
            "rest_compat.arguments:_parse_query_value calls orjson.loads",
            "rest_compat.arguments:parse_form_body calls parse_qsl",
            "rest_compat.arguments:parse_json_body calls msgspec.json.decode",
        ),
    ),
    Demand(
        "graphql.execution.json_encoding:encode_large_json",
        "graphql.cost.operation_charge:OperationCharge.settle",
        (
            "graphql.execution.json_encoding:encode_pieces calls encode_json",
            "graphql.execution.pipeline:_encode calls encode_json",
            "graphql.execution.pipeline:_encode calls encode_large_json",
            "graphql.transport.http:encode calls gzip.compress",
            "graphql.transport.subscriptions:_encode_data calls encode_json",
            "graphql.transport.subscriptions:execute_with_graphql_core calls encode_json",
        ),
    ),
    Demand(
        "graphql.execution.schema:MAX_ERROR_CHARACTERS",
        "graphql.execution.documents.document_limits:parse_cost",
        ("graphql.transport.http:refusal_response calls encode_json",),
    ),
    Demand(
        "operations.readings.files.uploaded_files:MAX_LISTED_LINES",
        "rest_compat.call_charge:CallCharge.add",
        ("rest_compat.file_intake:_lines_of calls encode_json",),
    ),
    Demand(
        "graphql.execution.json_encoding:LARGE_COST",
        "rest_compat.call_charge:CallCharge.raise_to",
        (
            "rest_compat.error_responses:json_response calls encode_json",
            "rest_compat.routes:_execute calls encode_large_json",
        ),
    ),
    Demand(
        "db.queries.series.raw_readings:PAGE_SIZE",
        "rest_compat.call_charge:CallCharge.add_paced",
        ("rest_compat.arrow.readings:_encode_batch calls pa.record_batch",),
    ),
    Demand(
        "rest_compat.bulk_intake:MAX_LINE_BYTES",
        "rest_compat.call_charge:UploadCharge",
        (
            "operations.readings.bulk_recorder:decode_line calls decoder.decode",
            "rest_compat.bulk_intake:_parse_plain_lines calls _DECODER.decode_lines",
        ),
    ),
    Demand(
        "price_sources.answers:MAX_ANSWER_BYTES",
        "none: a command of the operator reads one answer of a price source",
        ("price_sources.answers:_parse calls json.loads",),
    ),
    Demand(
        "rest_compat.arrow.frames:MAX_BODY_BYTES",
        "rest_compat.call_charge:UploadCharge",
        ("rest_compat.arrow.frames:_read_batch calls pa.ipc.open_stream",),
    ),
    Demand(
        "operations.readings.bulk_recorder:BATCH_SIZE",
        "rest_compat.call_charge:UploadCharge",
        (
            "db.readings.reading_store:record calls np.unique",
            "db.readings.recording:upsert_readings calls np.unique",
            "energy.arrays:sort_and_deduplicate calls np.lexsort",
            "energy.sampling:find_steps calls np.unique",
            "energy.sampling:intervals_of calls sorted",
            "energy.storage_fields:is_divided calls np.unique",
            "operations.readings.bulk_recording:_instants_by_series calls np.argsort",
            "operations.readings.files.staged_readings:instants calls np.unique",
            "operations.readings.reading_targets:store_learned calls np.unique",
            "operations.readings.reading_targets:store_learned calls sorted",
            "operations.readings.bulk_recording:_batch_cost calls np.unique",
            "operations.readings.bulk_recording:list_rejected calls np.argsort",
            "operations.readings.recording:_build_events calls np.sort",
            "rest_compat.arrow.readings:_parse_batch calls np.unique",
            "rest_compat.arrow.readings:_distinct calls np.unique",
        ),
    ),
    Demand(
        "operations.readings.files.file_unpacking:MAX_DIRECTORY_BYTES",
        "operations.readings.files.uploaded_files:FileWork",
        ("operations.readings.files.file_unpacking:unpack calls zipfile.ZipFile",),
    ),
    Demand(
        "delivery.templates.renderer:WorkerLimits",
        "graphql.cost.operation_charge:OperationCharge.add_work",
        (
            "delivery.templates.renderer:_read_message calls json.loads",
            "delivery.templates.worker:serve calls json.loads",
            "operations.templates.template_previews:run_preview calls templates.preview",
            "operations.templates.templates:check_content calls templates.check",
            "operations.templates.templates:_require_no_errors calls templates.preview",
            "operations.templates.templates:check_names calls templates.check",
        ),
    ),
    Demand(
        "delivery.templates.renderer:WorkerLimits",
        "operations.templates.template_sharing:AddressCharge.add_work",
        ("operations.templates.template_sharing:shared_preview calls templates.preview",),
    ),
    Demand(
        "delivery.templates.renderer:WorkerLimits",
        "none: a worker renders it once for each stored mail, whose number has bounds for each address and user",
        (
            "operations.messages.account_mails:_render_own calls templates.render",
            "operations.messages.account_mails:render_account_mail calls templates.render",
            "operations.messages.notifications:render_content calls templates.render",
        ),
    ),
    Demand(
        "delivery.outbound_http:OutboundHttpClient",
        "none: a worker sends stored deliveries, of each application at most an equal share",
        (
            "delivery.channels.push:_send_to_browser calls _browser_http.send",
            "delivery.channels.push:_send_to_phone calls _phone_http.send",
            "delivery.channels.webhook:send calls _http.send",
            "delivery.outbound_http:look_up_in_system calls socket.getaddrinfo",
            "delivery.outbound_http:_open_streams calls asyncio.open_connection",
            "delivery.outbound_http:_send_and_receive calls http.send",
        ),
    ),
    Demand(
        "delivery.templates.link_trial:MAX_TRIED_ADDRESSES",
        "operations.vocabulary.cost_weights:TRIAL_WEIGHT",
        ("delivery.templates.link_trial:_problem calls http.send",),
    ),
    Demand(
        "delivery.openid.keys:parse_keys",
        "requests.client:AddressPolicy.LOGIN",
        (
            "delivery.openid.keys:_parse_key calls jwt.PyJWK",
            "delivery.openid.client:_json_object calls json.loads",
            "delivery.openid.client:_send calls http.send",
            "delivery.openid.tokens:_verify_signature calls jwt.decode",
            "delivery.openid.tokens:read_issuer calls jwt.decode",
        ),
    ),
    Demand(
        "delivery.channels.smtp:build_and_encode_mail",
        "none: a worker builds stored mails in a thread, of each application at most an equal share",
        (
            "app.workers.delivery_handlers:send calls build_and_encode_mail",
            "delivery.channels.mail:_check_round_trip calls parse_mail",
            "delivery.channels.smtp:send calls build_and_encode_mail",
        ),
    ),
    Demand(
        "app.workers.user_jobs:MAX_ARCHIVE_BYTES",
        "none: the worker of a process writes one archive at a time",
        (
            "app.workers.user_jobs:_store_parts calls write_archive",
            "operations.personal_data.data_archive:write_archive calls zipfile.ZipFile",
        ),
    ),
    Demand(
        "delivery.mail_addresses:MAX_ADDRESS_OCTETS",
        "graphql.cost.operation_charge:OperationCharge.settle",
        ("delivery.mail_addresses:_encode_domain calls idna.encode",),
    ),
    Demand(
        "values.annotations:MaxCharacters",
        "graphql.cost.operation_charge:OperationCharge.settle",
        (
            "delivery.channels.web_push:parse_subscription calls json.loads",
            "energy.meters.meter_messages:_parse_json calls _DECODER.decode",
            "energy.meters.meter_messages:_parse_json calls json.loads",
            "operations.core.pagination:_decode_cursor calls msgspec.json.decode",
            "operations.accounts.profiles:_check_object calls encode_json",
            "operations.webhooks.webhooks:prepare_webhook calls encode_json",
        ),
    ),
    Demand(
        "realtime.connections.protocol:parse_message",
        "none: a message has at most 64 KiB, and a connection a rate of messages",
        (
            "realtime.connections.protocol:_read_large calls _ENVELOPE_DECODER.decode",
            "realtime.connections.protocol:parse_message calls _DECODER.decode",
        ),
    ),
    Demand(
        "realtime.connections.protocol:parse_message",
        "graphql.execution.pipeline:GraphQLPipeline.charge_request",
        ("realtime.connections.protocol:parse_request calls _REQUEST_DECODER.decode",),
    ),
    Demand(
        "app.server.pages.pages:ConstantAnswer",
        "requests.client:AddressPolicy.REQUEST",
        (
            "app.server.pages.pages:__init__ calls gzip.compress",
            "app.server.pages.graphql_page:_opens_page calls parse_qsl",
        ),
    ),
    Demand(
        "app.server.factory:limit_by_address",
        "requests.client:AddressPolicy.REQUEST",
        (
            "app.server.pages.mail_outbox:_mail_parts calls parse_mail",
            "app.server.pages.mail_outbox:show_html calls parse_mail",
        ),
    ),
    Demand(
        "values.stored_json:encode_json",
        "none: the text is of the gateway itself: its files, settings, rows, and events of other gateways",
        (
            "app.input_parser:decode_object calls orjson.loads",
            "app.server.pages.page_routes:display_shell_routes calls json.loads",
            "app.server.edge.serving:bind_sockets calls socket.getaddrinfo",
            "db.connections.engine:_load_json calls orjson.loads",
            "delivery.templates.html.mail_clients:module calls json.loads",
            "db.personal_data.erasure_list:accept calls _DECODER.decode",
            "db.personal_data.erasure_list:entry calls _TENANCY_DECODER.decode",
            "realtime.bus.codec:_decode_parts calls _ENVELOPE_DECODER.decode",
            "realtime.bus.codec:decode calls decoder.decode",
            "realtime.connections.event_streams.redis_stream_reservations:get calls _DECODER.decode",
            "realtime.redis_url:_parse_options calls parse_qsl",
        ),
    ),
    Demand(
        "app.server.gate.client_addresses:MAX_FORWARDED_ADDRESSES",
        "none: a head has at most 64 KiB, of whose addresses 20 are read, and short texts are kept",
        (
            "app.server.gate.client_addresses:_parse calls ip_address",
            "app.server.gate.client_addresses:address_groups calls ip_network",
        ),
    ),
    Demand(
        "delivery.outbound_http:OutboundHttpClient",
        "none: a worker sends stored deliveries, of each application at most an equal share",
        (
            "delivery.channels.push:_fit_payload calls json.dumps",
            "delivery.channels.push:_send_to_phone calls json.dumps",
            "delivery.channels.smtp:is_this_machine calls ip_address",
            "delivery.channels.web_push:authorization calls json.dumps",
            "delivery.egress:host_ip calls ip_address",
            "delivery.egress:module calls ip_network",
            "delivery.outbound_http:_resolve_addresses calls ip_address",
            "delivery.outbound_http:is_own_address calls ip_address",
        ),
    ),
    Demand(
        "app.server.pages.pages:ConstantAnswer",
        "requests.client:AddressPolicy.REQUEST",
        (
            "app.server.pages.page_routes:display_shell_routes calls json.dumps",
            "app.server.factory:_openapi_answer calls json.dumps",
            "app.server.pages.graphql_page:serve calls json.dumps",
        ),
    ),
    Demand(
        "app.server.pages.page_routes:MAX_PARAMETER_CHARACTERS",
        "requests.client:AddressPolicy.FILE",
        ("app.server.pages.page_routes:serve_manifest calls json.dumps",),
    ),
    Demand(
        "requests.request_limits:check_structure",
        "graphql.execution.pipeline:GraphQLPipeline.charge_request",
        ("graphql.transport.subscriptions:_encode_canonical calls msgspec.json.encode",),
    ),
    Demand(
        "operations.webhooks.endpoint_secrets:MAX_OLD_SECRETS",
        "graphql.cost.operation_charge:OperationCharge.settle",
        (
            "operations.webhooks.endpoint_secrets:store_old_secrets calls msgspec.json.encode",
            "operations.webhooks.endpoint_secrets:valid_old_secrets calls _DECODER.decode",
        ),
    ),
    Demand(
        "errors:MAX_LISTED_PROBLEMS",
        "none: an error has a bound of problems, and closes its connection or was charged as its operation",
        (
            "app.server.edge.http_protocol:encode_refusal calls msgspec.json.encode",
            "graphql.transport.subscriptions:_rejection calls orjson.dumps",
            "realtime.connections.protocol:encode_error calls msgspec.json.encode",
            "realtime.subscriptions.subscription:build_error_result calls msgspec.json.encode",
            "realtime.subscriptions.subscription:encode_errors calls msgspec.json.encode",
        ),
    ),
    Demand(
        "realtime.connections.protocol:parse_message",
        "none: a frame around a result that is encoded already, or a few texts of the connection",
        (
            "realtime.connections.event_streams.event_stream:_send_complete calls msgspec.json.encode",
            "realtime.connections.event_streams.event_stream:encode_next calls msgspec.json.encode",
            "realtime.connections.event_streams.event_stream_registry:topic calls msgspec.json.encode",
            "realtime.connections.protocol:encode_complete calls msgspec.json.encode",
            "realtime.connections.protocol:encode_next_prefix calls msgspec.json.encode",
            "realtime.connections.protocol:encode_ping calls msgspec.json.encode",
            "realtime.connections.protocol:encode_pong calls msgspec.json.encode",
            "realtime.connections.event_streams.redis_stream_reservations:add calls msgspec.json.encode",
            "realtime.subscriptions.subscription:build_message calls _ENCODER.encode",
        ),
    ),
    Demand(
        "values.annotations:MaxCharacters",
        "graphql.cost.operation_charge:OperationCharge.settle",
        (
            "db.audit_chain:entry_digest calls orjson.dumps",
            "db.column_types:parameters calls orjson.dumps",
            "delivery.templates.worker:encode_message calls json.dumps",
            "operations.core.pagination:_encode_cursor calls msgspec.json.encode",
            "operations.homes.home_resources:_merge_attributes calls json.dumps",
            "realtime.bus.codec:encode_event calls _ENCODER.encode",
            "values.stored_json:encode_json calls json.dumps",
            "values.stored_json:encode_json calls orjson.dumps",
            "values.stored_json:encode_stored calls orjson.dumps",
        ),
    ),
    Demand(
        "app.workers.user_jobs:MAX_ARCHIVE_BYTES",
        "none: the worker of a process writes one archive at a time",
        (
            "operations.personal_data.data_archive:pages calls msgspec.json.encode",
            "operations.personal_data.data_archive:write_archive calls msgspec.json.encode",
        ),
    ),
    Demand(
        "values.stored_json:encode_json",
        "none: a line of a log, an instant, or an entry of the operator's list",
        (
            "app.observability.logs:format calls orjson.dumps",
            "clock:format_iso calls orjson.dumps",
            "db.personal_data.erasure_list:of calls msgspec.json.encode",
            "db.personal_data.erasure_list:sign calls msgspec.json.encode",
            "db.personal_data.erasure_list:signed_content calls msgspec.json.encode",
        ),
    ),
    *SORTS,
)
