"""Every name that MASEval's API document promises: modules, their names, members, parameters.

Names that begin with an underscore are not promised, and neither are the parts that
``docs/migrating.md`` lists as not here.
"""

import inspect
from importlib import import_module
from typing import Any

import pytest

NAMES = {
    "maseval": """
        Task TaskProtocol TimeoutAction Environment AgentAdapter Benchmark TaskExecutionStatus
        CallbackHandler BenchmarkCallback EnvironmentCallback AgentCallback
        MessageTracingAgentCallback ToolLLMSimulator UserLLMSimulator SimulatorError
        ToolSimulatorError UserSimulatorError User LLMUser AgenticLLMUser TerminationReason
        Evaluator MessageHistory ToolInvocationHistory TraceableMixin Usage TokenUsage
        UsageTrackableMixin CostCalculator StaticPricingCalculator UsageReporter ComponentRegistry
        TaskContext BaseTaskQueue TaskQueue SequentialTaskQueue InformativeSubsetQueue DISCOQueue
        PriorityTaskQueue AdaptiveTaskQueue ModelAdapter ChatResponse ModelScorer MASEvalError
        AgentError EnvironmentError UserError UserExhaustedError TaskFrozenError TaskTimeoutError
        validate_argument_type validate_required_arguments validate_no_extra_arguments
        validate_arguments_from_schema SeedGenerator DefaultSeedGenerator SeedingError
    """,
    "maseval.core.task": """
        TimeoutAction TaskProtocol FrozenDict Task BaseTaskQueue SequentialTaskQueue TaskQueue
        InformativeSubsetQueue DISCOQueue PriorityTaskQueue AdaptiveTaskQueue
    """,
    "maseval.core.benchmark": "Benchmark TaskExecutionStatus",
    "maseval.core.environment": "Environment",
    "maseval.core.agent": "AgentAdapter",
    "maseval.core.model": "ModelAdapter ChatResponse",
    "maseval.core.scorer": "ModelScorer",
    "maseval.core.user": "User LLMUser AgenticLLMUser TerminationReason",
    "maseval.core.evaluator": "Evaluator",
    "maseval.core.simulator": """
        LLMSimulator ToolLLMSimulator UserLLMSimulator AgenticUserLLMSimulator SimulatorError
        ToolSimulatorError UserSimulatorError SimulatorCallStatus
    """,
    "maseval.core.history": "MessageHistory ToolInvocationHistory RoleType ContentType",
    "maseval.core.tracing": "TraceableMixin",
    "maseval.core.config": "ConfigurableMixin",
    "maseval.core.usage": """
        Usage TokenUsage UsageTrackableMixin CostCalculator StaticPricingCalculator UsageReporter
    """,
    "maseval.core.registry": "ComponentRegistry RegisterableComponent",
    "maseval.core.context": "TaskContext",
    "maseval.core.exceptions": """
        MASEvalError AgentError EnvironmentError UserError UserExhaustedError TaskFrozenError
        TaskTimeoutError validate_argument_type validate_required_arguments
        validate_no_extra_arguments validate_arguments_from_schema
    """,
    "maseval.core.seeding": "SeedGenerator DefaultSeedGenerator SeedingError",
    "maseval.core.callback": "BenchmarkCallback EnvironmentCallback AgentCallback",
    "maseval.core.callback_handler": "CallbackHandler",
    "maseval.core.callbacks": """
        MessageTracingAgentCallback ResultLogger FileResultLogger ProgressBarCallback
        TqdmProgressBarCallback RichProgressBarCallback
    """,
    "maseval.core.callbacks.message_tracing": "MessageTracingAgentCallback",
    "maseval.core.callbacks.result_logger": "ResultLogger FileResultLogger",
    "maseval.core.callbacks.progress_bar": """
        ProgressBarCallback TqdmProgressBarCallback RichProgressBarCallback
    """,
    "maseval.core.utils.system_info": """
        get_git_info get_python_info get_system_info get_package_versions
        get_environment_variables gather_benchmark_config
    """,
    "maseval.core.utils.message_utils": """
        create_text_content create_image_url_content create_image_file_content
        create_image_from_pil create_image_from_numpy create_file_content create_audio_content
        create_multimodal_message create_tool_call extract_text_content has_images
        has_tool_calls count_tokens_estimate
    """,
    "maseval.interface": "inference agents logging_",
    "maseval.interface.logging": "",
    "maseval.interface.usage": "LiteLLMCostCalculator",
    "maseval.interface.inference": """
        AnthropicModelAdapter GoogleGenAIModelAdapter OpenAIModelAdapter
        HuggingFacePipelineModelAdapter ToolCallingNotSupportedError HuggingFaceModelScorer
        LiteLLMModelAdapter
    """,
    "maseval.interface.agents": """
        SmolAgentAdapter SmolAgentLLMUser LangGraphAgentAdapter LangGraphLLMUser
        LlamaIndexAgentAdapter LlamaIndexLLMUser CamelAgentAdapter CamelLLMUser CamelAgentUser
        CamelRolePlayingTracer CamelWorkforceTracer camel_role_playing_execution_loop
    """,
    "maseval.interface.agents.smolagents": "SmolAgentAdapter SmolAgentLLMUser",
    "maseval.interface.agents.smolagents_optional": "",  # its class needs smolagents
    "maseval.interface.agents.langgraph": "LangGraphAgentAdapter LangGraphLLMUser",
    "maseval.interface.agents.llamaindex": "LlamaIndexAgentAdapter LlamaIndexLLMUser",
    "maseval.interface.agents.camel": """
        CamelAgentAdapter CamelLLMUser CamelAgentUser CamelRolePlayingTracer CamelWorkforceTracer
        camel_role_playing_execution_loop
    """,
    "maseval.benchmark": """
        MACSBenchmark MACSEnvironment MACSEvaluator MACSGenericTool MACSUser load_tasks
        load_agent_config ensure_data_exists compute_benchmark_metrics
    """,
    "maseval.core.embedding": "Embedder Vector register_embedder resolve_embedder",
    "maseval.benchmark.macs": """
        MACSBenchmark MACSEnvironment MACSEvaluator MACSGenericTool MACSUser load_tasks
        load_agent_config configure_model_ids ensure_data_exists process_data
        download_original_data download_prompt_templates restructure_data VALID_DOMAINS
        DEFAULT_DATA_DIR compute_benchmark_metrics score_conversation score_conversations
        MACSDataError JudgeError SCOREABLE_STATUSES
    """,
    "maseval.benchmark.macs.macs": """
        MACSBenchmark MACSEnvironment MACSEvaluator MACSGenericTool MACSUser
        compute_benchmark_metrics SCOREABLE_STATUSES
    """,
    "maseval.benchmark.macs.data_loader": """
        DATA_URLS EVALUATION_URLS DEFAULT_DATA_DIR VALID_DOMAINS download_file download_json
        download_original_data restructure_data ensure_data_exists process_data load_tasks
        load_agent_config configure_model_ids download_prompt_templates
    """,
    "maseval.benchmark.tau2": """
        Tau2Benchmark Tau2User INITIAL_GREETING DefaultTau2Agent DefaultTau2AgentAdapter
        DefaultAgentTau2Benchmark Tau2Environment get_environment_constructor Tau2Evaluator
        RewardType TerminationReason compute_benchmark_metrics compute_pass_at_k
        compute_pass_hat_k pass_hat_k load_tasks load_domain_config configure_model_ids
        download_domain_data ensure_data_exists VALID_DOMAINS TASK_SPLITS DB ToolKitBase ToolType
        is_tool RetailDB RetailTools AirlineDB AirlineTools TelecomDB TelecomTools
        Tau2ReferenceAgent Tau2TaskLoader
    """,
    "maseval.benchmark.tau2.tau2": """
        Tau2Benchmark Tau2User INITIAL_GREETING DefaultTau2Agent DefaultTau2AgentAdapter
        DefaultAgentTau2Benchmark
    """,
    "maseval.benchmark.tau2.agent": "DefaultTau2Agent Tau2ReferenceAgent",
    "maseval.benchmark.tau2.environment": """
        Tau2Environment get_environment_constructor DOMAIN_DB_CLASSES DOMAIN_TOOLKIT_CLASSES
        DOMAIN_USER_TOOLKIT_CLASSES
    """,
    "maseval.benchmark.tau2.evaluator": """
        Tau2Evaluator RewardType TerminationReason compute_benchmark_metrics compute_pass_at_k
        compute_pass_hat_k pass_hat_k
    """,
    "maseval.benchmark.tau2.metrics": """
        compute_benchmark_metrics compute_pass_at_k compute_pass_hat_k pass_hat_k
    """,
    "maseval.benchmark.tau2.data_loader": """
        DEFAULT_DATA_DIR VALID_DOMAINS TASK_SPLITS BASE_SPLIT_COUNTS DEFAULT_TIMEOUT_SECONDS
        DEFAULT_MAX_RETRIES GITHUB_BASE DEFAULT_VERSION URLS download_file download_json
        download_domain_data ensure_data_exists load_domain_config load_tasks configure_model_ids
        Tau2TaskLoader
    """,
    "maseval.benchmark.tau2.utils": """
        get_dict_hash get_pydantic_hash update_pydantic_model_with_dict load_file dump_file
        compare_tool_calls
    """,
    "maseval.benchmark.tau2.domains": """
        DB ToolType is_tool ToolKitBase RetailDB RetailTools AirlineDB AirlineTools TelecomDB
        TelecomTools VALID_DOMAINS
    """,
    "maseval.benchmark.tau2.domains.base": "DB ToolType is_tool ToolKitBase",
    "maseval.benchmark.tau2.domains.retail": """
        RetailDB RetailTools Order Product User Variant OrderFullfilment OrderPaymentType
    """,
    "maseval.benchmark.tau2.domains.retail.models": "OrderFullfilment OrderPaymentType",
    "maseval.benchmark.tau2.domains.retail.db": "RetailDB",
    "maseval.benchmark.tau2.domains.airline": """
        AirlineDB AirlineTools Flight Reservation User FlightType CabinClass MembershipLevel
    """,
    "maseval.benchmark.tau2.domains.airline.db": "AirlineDB",
    "maseval.benchmark.tau2.domains.telecom": """
        TelecomDB TelecomTools TelecomUserDB TelecomUserTools Bill Customer Device Line Plan
        LineStatus BillStatus SimStatus NetworkStatus Surroundings PaymentRequest get_now get_today
    """,
    "maseval.benchmark.tau2.domains.telecom.db": "TelecomDB",
    "maseval.benchmark.tau2.domains.telecom.models": "TelecomUserDB UserSurroundings",
    "maseval.benchmark.tau2.domains.telecom.user_models": "TelecomUserDB",
    "maseval.benchmark.tau2.domains.airline.models": """
        FlightBase ReservationFlight FlightDateStatus FlightDateStatusAvailable
        FlightDateStatusCancelled FlightDateStatusDelayed FlightDateStatusFlying
        FlightDateStatusLanded FlightDateStatusOnTime
    """,
    "maseval.benchmark.tau2.domains.telecom.user_tools": "TelecomUserTools",
}

# Members of classes, after the name of the class.
MEMBERS = """
    maseval.TimeoutAction: SKIP RETRY EXTEND
    maseval.TaskProtocol: to_dict
    maseval.Task: freeze unfreeze is_frozen
    maseval.BaseTaskQueue: append extend to_list from_list from_json_file
    maseval.DISCOQueue: load_anchor_points
    maseval.AdaptiveTaskQueue: initial_state select_next_task update_state stop on_task_repeat_end
    maseval.Benchmark: setup_environment setup_user setup_agents setup_evaluators get_model_adapter
        run_agents evaluate execution_loop run add_callback register clear_registry
        collect_all_traces collect_all_configs collect_all_usage usage usage_by_component
        seed_generator get_failed_tasks
    maseval.TaskExecutionStatus: SUCCESS AGENT_ERROR ENVIRONMENT_ERROR USER_ERROR TASK_TIMEOUT
        UNKNOWN_EXECUTION_ERROR EVALUATION_FAILED SETUP_FAILED TASK_EXECUTION_FAILED
    maseval.ComponentRegistry: register collect_traces collect_configs collect_usage total_usage
        usage_by_component update_benchmark_config clear
    maseval.TaskContext: elapsed remaining is_expired check_timeout set_collected_traces
    maseval.Environment: setup_state create_tools get_tools get_tool gather_traces gather_config
    maseval.Evaluator: filter_traces __call__
    maseval.AgentAdapter: run get_messages gather_usage gather_traces gather_config
    maseval.ChatResponse: to_message
    maseval.ModelAdapter: seed model_id chat generate gather_usage gather_traces gather_config
    maseval.ModelScorer: model_id loglikelihood loglikelihood_batch loglikelihood_choices
    maseval.MessageHistory: to_list add_message add_tool_call add_tool_response clear
        filter_by_role get_last_message to_openai_format
    maseval.ToolInvocationHistory: add_invocation to_list
    maseval.core.simulator.SimulatorCallStatus: ModelCallError ModelParsingError Successful
    maseval.core.simulator.LLMSimulator: __call__ gather_traces
    maseval.TerminationReason: NOT_TERMINATED MAX_TURNS USER_TERMINATED
        MAX_TURNS_AND_USER_TERMINATED
    maseval.User: get_initial_query respond is_done get_tool
    maseval.LLMUser: get_initial_query respond is_done termination_reason increment_turn
    maseval.Usage: to_dict
    maseval.TokenUsage: from_chat_response_usage
    maseval.StaticPricingCalculator: calculate_cost add_model models gather_config
    maseval.UsageReporter: from_reports by_task by_component total summary
    maseval.SeedGenerator: global_seed derive_seed for_task for_repetition seed_log gather_config
    maseval.DefaultSeedGenerator: child
    maseval.BenchmarkCallback: on_run_start on_run_end on_task_start on_task_end
        on_task_repeat_start on_task_repeat_end on_event
    maseval.EnvironmentCallback: on_setup_start on_setup_end
    maseval.AgentCallback: on_run_start on_run_end
    maseval.CallbackHandler: register deregister invoke
    maseval.MessageTracingAgentCallback: get_all_conversations get_conversations_by_agent clear
        get_statistics
    maseval.core.callbacks.ProgressBarCallback: set_metrics update_metrics
    maseval.core.callbacks.ResultLogger: log_iteration finalize validate
    maseval.benchmark.macs.MACSEnvironment: create_tools get_tools_for_agent
    maseval.benchmark.macs.MACSUser: DEFAULT_MAX_TURNS DEFAULT_STOP_TOKENS
        DEFAULT_EARLY_STOPPING_CONDITION reset get_tool
    maseval.benchmark.macs.MACSEvaluator: DEFAULT_TEMPLATES_DIR filter_traces __call__
    maseval.benchmark.tau2.DB: load get_hash get_statistics copy_deep
    maseval.benchmark.tau2.ToolType: READ WRITE THINK GENERIC
    maseval.benchmark.tau2.ToolKitBase: tools use_tool has_tool tool_type get_statistics update_db
        get_db_hash get_tool_descriptions get_tool_metadata
    maseval.benchmark.tau2.Tau2Environment: domain db toolkit user_toolkit policy sync_tools
        create_tools create_user_tools make_tool_call make_user_tool_call run_env_function_call
        run_env_assertion get_response to_json_str set_state get_db_hash get_user_db_hash
        get_initial_db_hash
    maseval.benchmark.tau2.Tau2User: STOP TRANSFER OUT_OF_SCOPE GUIDELINES_DIR get_initial_query
        inject_greeting respond is_done
    maseval.benchmark.tau2.Tau2Benchmark: MAX_INVOCATIONS
    maseval.benchmark.tau2.DefaultTau2Agent: run reset get_messages
    maseval.benchmark.tau2.RewardType: DB ENV_ASSERTION NL_ASSERTION ACTION COMMUNICATE
    maseval.benchmark.tau2.TerminationReason: AGENT_STOP USER_STOP MAX_STEPS TOO_MANY_ERRORS
    maseval.benchmark.tau2.Tau2Evaluator: filter_traces __call__
"""

# What each takes by keyword.
PARAMETERS = """
    maseval.TaskProtocol: timeout_seconds timeout_action max_retries priority tags
    maseval.Task: query id environment_data user_data evaluation_data metadata protocol
    maseval.BaseTaskQueue.from_json_file: path limit
    maseval.PriorityTaskQueue: tasks reverse
    maseval.InformativeSubsetQueue: tasks indices
    maseval.DISCOQueue: tasks anchor_points anchor_points_path
    maseval.Benchmark: callbacks n_task_repeats max_invocations num_workers fail_on_setup_error
        fail_on_task_error fail_on_evaluation_error progress_bar seed seed_generator
    maseval.Benchmark.run: tasks agent_data
    maseval.Benchmark.get_failed_tasks: status_filter reports
    maseval.ComponentRegistry: benchmark_config
    maseval.TaskContext: deadline
    maseval.AgentAdapter: agent_instance name callbacks cost_calculator model_id
    maseval.AgentError: message component details suggestion
    maseval.TaskTimeoutError: message component details elapsed timeout partial_traces
    maseval.core.exceptions.validate_argument_type: value expected_type arg_name component
    maseval.core.exceptions.validate_required_arguments: kwargs required component
    maseval.core.exceptions.validate_no_extra_arguments: kwargs allowed component
    maseval.core.exceptions.validate_arguments_from_schema: kwargs schema component strict
    maseval.ChatResponse: content tool_calls role usage model stop_reason
    maseval.ModelAdapter: seed cost_calculator
    maseval.ModelAdapter.chat: messages generation_params tools tool_choice
    maseval.ModelAdapter.generate: prompt generation_params
    maseval.ModelScorer: seed
    maseval.ModelScorer.loglikelihood_choices: context choices delimiter
    maseval.MessageHistory.add_message: role content name metadata timestamp
    maseval.MessageHistory.add_tool_call: tool_calls content metadata timestamp
    maseval.MessageHistory.add_tool_response: tool_call_id content name metadata timestamp
    maseval.ToolInvocationHistory.add_invocation: inputs outputs status timestamp meta
    maseval.SimulatorError: message attempts last_error logs component
    maseval.ToolLLMSimulator: model tool_name tool_description tool_inputs template max_try
        generation_params
    maseval.UserLLMSimulator: model user_profile scenario template max_try generation_params
        stop_token early_stopping_condition
    maseval.core.simulator.AgenticUserLLMSimulator: model user_profile scenario tools
    maseval.LLMUser: name model user_profile scenario initial_query template max_try max_turns
        stop_tokens early_stopping_condition exhausted_response
    maseval.AgenticLLMUser: name model user_profile scenario tools max_internal_steps
    maseval.Usage: cost units provider category component_name kind
    maseval.TokenUsage: input_tokens output_tokens total_tokens cached_input_tokens
        cache_creation_input_tokens reasoning_tokens audio_tokens
    maseval.StaticPricingCalculator: pricing
    maseval.SeedGenerator.derive_seed: name per_repetition
    maseval.DefaultSeedGenerator: global_seed task_id rep_index path_prefix
    maseval.MessageTracingAgentCallback: include_metadata verbose
    maseval.core.callbacks.ProgressBarCallback: desc show_status
    maseval.core.callbacks.TqdmProgressBarCallback: desc show_status leave ncols bar_format
    maseval.core.callbacks.RichProgressBarCallback: desc show_status transient
    maseval.core.callbacks.FileResultLogger: output_dir filename_pattern write_metadata
        atomic_writes overwrite include_traces include_config include_eval include_task
        include_usage validate_on_completion
    maseval.core.utils.system_info.get_git_info: repo_path
    maseval.core.utils.system_info.get_environment_variables: include_patterns
    maseval.core.utils.system_info.gather_benchmark_config: repo_path include_env_vars
        include_packages
    maseval.core.utils.message_utils.create_image_url_content: url detail
    maseval.core.utils.message_utils.create_image_file_content: file_path detail encode_base64
    maseval.core.utils.message_utils.create_image_from_pil: pil_image detail format
    maseval.core.utils.message_utils.create_image_from_numpy: numpy_array detail format
    maseval.core.utils.message_utils.create_file_content: file_path mime_type
    maseval.core.utils.message_utils.create_audio_content: file_path mime_type
    maseval.core.utils.message_utils.create_multimodal_message: role parts
    maseval.core.utils.message_utils.create_tool_call: tool_name arguments call_id
    maseval.core.utils.message_utils.extract_text_content: message
    maseval.core.utils.message_utils.has_images: message
    maseval.core.utils.message_utils.has_tool_calls: message
    maseval.core.utils.message_utils.count_tokens_estimate: messages
    maseval.interface.inference.OpenAIModelAdapter: client model_id default_generation_params seed
        cost_calculator
    maseval.interface.inference.AnthropicModelAdapter: client model_id default_generation_params
        max_tokens seed cost_calculator
    maseval.interface.inference.GoogleGenAIModelAdapter: client model_id
        default_generation_params seed cost_calculator
    maseval.interface.inference.LiteLLMModelAdapter: model_id default_generation_params api_key
        api_base seed cost_calculator
    maseval.interface.inference.HuggingFacePipelineModelAdapter: model model_id
        default_generation_params seed cost_calculator
    maseval.interface.inference.HuggingFaceModelScorer: model_id device trust_remote_code seed
    maseval.interface.usage.LiteLLMCostCalculator: custom_pricing model_id_map
    maseval.interface.agents.SmolAgentAdapter: agent_instance name callbacks cost_calculator
        model_id
    maseval.interface.agents.LangGraphAgentAdapter: agent_instance name callbacks config
        cost_calculator model_id
    maseval.interface.agents.LlamaIndexAgentAdapter: agent_instance name callbacks max_iterations
        cost_calculator model_id
    maseval.interface.agents.CamelAgentAdapter: agent_instance name callbacks cost_calculator
        model_id
    maseval.interface.agents.CamelAgentUser: user_agent initial_query name max_turns
    maseval.interface.agents.camel_role_playing_execution_loop: role_playing task max_steps tracer
    maseval.interface.agents.CamelRolePlayingTracer: role_playing name
    maseval.interface.agents.CamelRolePlayingTracer.record_step: assistant_response user_response
    maseval.interface.agents.CamelWorkforceTracer: workforce name
    maseval.benchmark.macs.MACSGenericTool: spec model
    maseval.benchmark.macs.MACSEnvironment: environment_data model_factory callbacks
    maseval.benchmark.macs.MACSEnvironment.setup_state: environment_data
    maseval.benchmark.macs.MACSEnvironment.setup_state: task_data
    maseval.benchmark.macs.MACSUser: model scenario initial_query name template max_turns
        stop_tokens early_stopping_condition exhausted_response
    maseval.benchmark.macs.MACSEvaluator: model task gsr_type template
    maseval.benchmark.macs.MACSBenchmark: callbacks n_task_repeats max_invocations
    maseval.benchmark.macs.load_tasks: domain data_dir limit
    maseval.benchmark.macs.load_agent_config: domain data_dir
    maseval.benchmark.macs.configure_model_ids: tasks tool_model_id user_model_id
        evaluator_model_id
    maseval.benchmark.macs.ensure_data_exists: data_dir force_download verbose
    maseval.benchmark.macs.process_data: verbose
    maseval.benchmark.macs.download_original_data: data_dir domain verbose
    maseval.benchmark.macs.restructure_data: data_dir domain verbose
    maseval.benchmark.macs.download_prompt_templates: data_dir verbose
    maseval.benchmark.tau2.Tau2Environment: task_data callbacks
    maseval.benchmark.tau2.Tau2Environment: environment_data callbacks
    maseval.benchmark.tau2.Tau2Environment.setup_state: environment_data
    maseval.benchmark.tau2.Tau2Environment.setup_state: task_data
    maseval.benchmark.tau2.Tau2Environment.get_response: tool_name requestor tool_call_id
    maseval.benchmark.tau2.Tau2Environment.set_state: initialization_data initialization_actions
        message_history
    maseval.benchmark.tau2.Tau2Environment.run_env_assertion: assertion raise_assertion_error
    maseval.benchmark.tau2.Tau2User: model scenario initial_query tools tool_definitions llm_args
        max_turns exhausted_response
    maseval.benchmark.tau2.Tau2Evaluator: task environment nl_model
    maseval.benchmark.tau2.DefaultTau2Agent: tools policy model llm_args max_tool_calls verbose
    maseval.benchmark.tau2.DefaultTau2AgentAdapter: agent name
    maseval.benchmark.tau2.download_domain_data: data_dir domain version verbose
    maseval.benchmark.tau2.ensure_data_exists: data_dir domain force_download verbose
    maseval.benchmark.tau2.load_domain_config: domain data_dir
    maseval.benchmark.tau2.load_tasks: domain split data_dir limit timeout_seconds max_retries
    maseval.benchmark.tau2.configure_model_ids: tasks user_model_id evaluator_model_id
    maseval.benchmark.tau2.compute_pass_at_k: results k_values
    maseval.benchmark.tau2.compute_pass_hat_k: results k_values
    maseval.benchmark.tau2.pass_hat_k: num_trials success_count k
    maseval.benchmark.tau2.utils.compare_tool_calls: expected_name expected_args actual_name
        actual_args compare_args
"""


def rows(table: str) -> list[tuple[str, list[str]]]:
    """The table's rows, each a dotted name and the words after it; indented lines continue one."""
    joined = table.replace("\n            ", " ").replace("\n        ", " ")
    return [
        (name, words.split())
        for name, _, words in (r.partition(":") for r in joined.split("\n    ") if r.strip())
    ]


def resolve(path: str) -> type[Any]:
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(path)


@pytest.mark.parametrize("module", NAMES)
def test_a_module_has_the_promised_names(module):
    found = import_module(module)

    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize(("owner", "members"), rows(MEMBERS))
def test_a_class_has_the_promised_members(owner, members):
    kind = resolve(owner)

    assert [each for each in members if not hasattr(kind, each)] == []


@pytest.mark.parametrize(("path", "parameters"), rows(PARAMETERS))
def test_the_promised_parameters_may_be_given_by_name(path, parameters):
    function = resolve(path)

    inspect.signature(function).bind_partial(**dict.fromkeys(parameters))
