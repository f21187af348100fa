-- Content of apps: texts, prompts, actions, questions, terms and support details.

CREATE TABLE content (
    application_id VARCHAR NOT NULL,
    content_id VARCHAR NOT NULL,
    reference VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    data JSONB NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_content PRIMARY KEY (content_id),
    CONSTRAINT fk_content_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_content_application_id ON content (application_id);

CREATE TABLE faq (
    application_id VARCHAR NOT NULL,
    faq_id VARCHAR NOT NULL,
    reference VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    minimum_version VARCHAR NOT NULL,
    country VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    data JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_faq PRIMARY KEY (faq_id),
    CONSTRAINT fk_faq_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_faq_application_id ON faq (application_id);

CREATE TABLE prompt_type (
    application_id VARCHAR NOT NULL,
    prompt_type_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_prompt_type PRIMARY KEY (prompt_type_id),
    CONSTRAINT fk_prompt_type_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_prompt_type_application_id ON prompt_type (application_id);

CREATE TABLE support_details (
    application_id VARCHAR NOT NULL,
    support_details_id VARCHAR NOT NULL,
    reference VARCHAR NOT NULL,
    country VARCHAR NOT NULL,
    email VARCHAR NOT NULL,
    telephone VARCHAR NOT NULL,
    url VARCHAR NOT NULL,
    data JSONB NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_support_details PRIMARY KEY (support_details_id),
    CONSTRAINT fk_support_details_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_support_details_application_id ON support_details (application_id);

CREATE TABLE terms_conditions (
    application_id VARCHAR NOT NULL,
    tc_id VARCHAR NOT NULL,
    reference VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    data JSONB NOT NULL,
    valid_from TIMESTAMPTZ NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_terms_conditions PRIMARY KEY (tc_id),
    CONSTRAINT fk_terms_conditions_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_terms_conditions_application_id ON terms_conditions (application_id);

CREATE TABLE user_action_type (
    application_id VARCHAR NOT NULL,
    user_action_type_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_user_action_type PRIMARY KEY (user_action_type_id),
    CONSTRAINT fk_user_action_type_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_user_action_type_application_id ON user_action_type (application_id);

CREATE TABLE language_content (
    application_id VARCHAR NOT NULL,
    language_content_id VARCHAR NOT NULL,
    content_id VARCHAR NOT NULL,
    culture_code VARCHAR NOT NULL,
    data JSONB NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_language_content PRIMARY KEY (language_content_id),
    CONSTRAINT fk_language_content_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_language_content_content_id FOREIGN KEY(content_id) REFERENCES content (content_id)
);
CREATE INDEX ix_language_content_application_id ON language_content (application_id);
CREATE INDEX ix_language_content_content_id ON language_content (content_id);

CREATE TABLE prompt (
    application_id VARCHAR NOT NULL,
    prompt_id VARCHAR NOT NULL,
    prompt_type_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    data JSONB NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_prompt PRIMARY KEY (prompt_id),
    CONSTRAINT fk_prompt_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_prompt_prompt_type_id FOREIGN KEY(prompt_type_id) REFERENCES prompt_type (prompt_type_id)
);
CREATE INDEX ix_prompt_application_id ON prompt (application_id);
CREATE INDEX ix_prompt_prompt_type_id ON prompt (prompt_type_id);

CREATE TABLE terms_conditions_user (
    application_id VARCHAR NOT NULL,
    tc_user_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    tc_id VARCHAR NOT NULL,
    data JSONB NOT NULL,
    reference VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_terms_conditions_user PRIMARY KEY (tc_user_id),
    CONSTRAINT fk_terms_conditions_user_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_terms_conditions_user_tc_id FOREIGN KEY(tc_id) REFERENCES terms_conditions (tc_id),
    CONSTRAINT fk_terms_conditions_user_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_terms_conditions_user_application_id ON terms_conditions_user (application_id);
CREATE INDEX ix_terms_conditions_user_tc_id ON terms_conditions_user (tc_id);
CREATE INDEX ix_terms_conditions_user_user_id ON terms_conditions_user (user_id);

CREATE TABLE user_action (
    application_id VARCHAR NOT NULL,
    user_action_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    user_action_type_id VARCHAR NOT NULL,
    data JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_user_action PRIMARY KEY (user_action_id),
    CONSTRAINT fk_user_action_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_user_action_user_action_type_id FOREIGN KEY(user_action_type_id) REFERENCES user_action_type (user_action_type_id),
    CONSTRAINT fk_user_action_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_user_action_application_id ON user_action (application_id);
CREATE INDEX ix_user_action_user_action_type_id ON user_action (user_action_type_id);
CREATE INDEX ix_user_action_user_id ON user_action (user_id);

CREATE TABLE prompt_user (
    application_id VARCHAR NOT NULL,
    prompt_user_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    prompt_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    data JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_prompt_user PRIMARY KEY (prompt_user_id),
    CONSTRAINT fk_prompt_user_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_prompt_user_prompt_id FOREIGN KEY(prompt_id) REFERENCES prompt (prompt_id),
    CONSTRAINT fk_prompt_user_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_prompt_user_application_id ON prompt_user (application_id);
CREATE INDEX ix_prompt_user_prompt_id ON prompt_user (prompt_id);
CREATE INDEX ix_prompt_user_user_id ON prompt_user (user_id);
