CREATE TABLE allocation (
	id VARCHAR(80) NOT NULL,
	run_id VARCHAR(80),
	attempt INTEGER,
	pool_id VARCHAR(80) NOT NULL,
	node TEXT NOT NULL,
	zone_id TEXT,
	gpu_uuid TEXT,
	share_num INTEGER NOT NULL,
	share_den INTEGER NOT NULL,
	"from" INTEGER NOT NULL,
	"to" INTEGER,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (id)
);
CREATE INDEX allocation_of_run ON allocation (run_id, attempt);
CREATE TABLE attempt (
	run_id VARCHAR(80) NOT NULL,
	n INTEGER NOT NULL,
	state VARCHAR(16) NOT NULL,
	failure_class VARCHAR(16),
	lease_epoch INTEGER NOT NULL,
	lease_holder TEXT NOT NULL,
	lease_expires_at INTEGER NOT NULL,
	backend TEXT NOT NULL,
	backend_ref TEXT,
	backend_uid TEXT,
	plan_id VARCHAR(80),
	started INTEGER NOT NULL,
	ended INTEGER,
	exit_code INTEGER,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (run_id, n)
);
CREATE TABLE checkpoint (
	run_id VARCHAR(80) NOT NULL,
	attempt INTEGER NOT NULL,
	step INTEGER NOT NULL,
	uri TEXT NOT NULL,
	manifest_sha VARCHAR(64) NOT NULL,
	committed_at INTEGER NOT NULL,
	state VARCHAR(16) NOT NULL,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (run_id, attempt, step)
);
CREATE TABLE cost_line (
	id VARCHAR(64) NOT NULL,
	stage VARCHAR(16) NOT NULL,
	run_id VARCHAR(80),
	attempt INTEGER,
	allocation_id VARCHAR(80),
	pool_id VARCHAR(80),
	team_id VARCHAR(80),
	category VARCHAR(32) NOT NULL,
	scope VARCHAR(16) NOT NULL,
	waste VARCHAR(16) NOT NULL,
	"from" INTEGER NOT NULL,
	"to" INTEGER NOT NULL,
	quantity_text TEXT NOT NULL,
	unit VARCHAR(32) NOT NULL,
	price_id VARCHAR(64) NOT NULL,
	amount_nano INTEGER NOT NULL,
	currency VARCHAR(3) NOT NULL,
	method VARCHAR(32) NOT NULL,
	supersedes_id VARCHAR(64),
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (id)
);
CREATE INDEX cost_line_of_run ON cost_line (run_id);
CREATE TABLE event (
	source VARCHAR(120) NOT NULL,
	epoch INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	run_id VARCHAR(80),
	attempt INTEGER,
	kind VARCHAR(40) NOT NULL,
	occurred_at INTEGER NOT NULL,
	recorded_at INTEGER NOT NULL,
	body TEXT NOT NULL,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (source, epoch, seq)
);
CREATE INDEX event_by_recording ON event (recorded_at);
CREATE INDEX event_of_run ON event (run_id, kind);
CREATE TABLE log (
	run_id VARCHAR(80) NOT NULL,
	attempt INTEGER NOT NULL,
	stream VARCHAR(40) NOT NULL,
	uri TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	sha VARCHAR(64),
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (run_id, attempt, stream)
);
CREATE TABLE phase (
	run_id VARCHAR(80) NOT NULL,
	attempt INTEGER NOT NULL,
	"from" INTEGER NOT NULL,
	kind VARCHAR(16) NOT NULL,
	"to" INTEGER,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (run_id, attempt, "from", kind)
);
CREATE TABLE pool (
	id VARCHAR(80) NOT NULL,
	site_id VARCHAR(80) NOT NULL,
	instance TEXT NOT NULL,
	capacity TEXT NOT NULL,
	currency VARCHAR(3) NOT NULL,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE price (
	id VARCHAR(64) NOT NULL,
	snapshot_sha VARCHAR(64) NOT NULL,
	offering_key TEXT NOT NULL,
	unit VARCHAR(32) NOT NULL,
	price_text TEXT NOT NULL,
	currency VARCHAR(3) NOT NULL,
	effective_from INTEGER NOT NULL,
	effective_to INTEGER,
	sku TEXT NOT NULL,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE price_snapshot (
	sha256 VARCHAR(64) NOT NULL,
	source TEXT NOT NULL,
	licence TEXT NOT NULL,
	fetched_at INTEGER NOT NULL,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (sha256)
);
CREATE TABLE principal (
	id VARCHAR(80) NOT NULL,
	kind VARCHAR(16) NOT NULL,
	team_id VARCHAR(80),
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE progress (
	run_id VARCHAR(80) NOT NULL,
	attempt INTEGER NOT NULL,
	at INTEGER NOT NULL,
	step INTEGER NOT NULL,
	samples INTEGER,
	tokens INTEGER,
	loss TEXT,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (run_id, attempt, at, step)
);
CREATE TABLE project (
	id VARCHAR(80) NOT NULL,
	team_id VARCHAR(80),
	reporting_currency VARCHAR(3) NOT NULL,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE run (
	id VARCHAR(80) NOT NULL,
	name TEXT NOT NULL,
	team_id VARCHAR(80),
	project_id VARCHAR(80),
	owner_id VARCHAR(80),
	labels TEXT NOT NULL,
	spec_json TEXT NOT NULL,
	spec_sha VARCHAR(64) NOT NULL,
	code_sha VARCHAR(64),
	state VARCHAR(16) NOT NULL,
	reason TEXT,
	failure_class VARCHAR(16),
	version INTEGER NOT NULL,
	request_key VARCHAR(256) NOT NULL,
	parent_run_id VARCHAR(80),
	limits TEXT NOT NULL,
	created INTEGER NOT NULL,
	ended INTEGER,
	hidden INTEGER,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (org_id, request_key)
);
CREATE INDEX run_by_creation ON run (created);
CREATE INDEX run_by_state ON run (state);
CREATE TABLE site (
	id VARCHAR(80) NOT NULL,
	kind TEXT NOT NULL,
	region TEXT,
	location TEXT,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE team (
	id VARCHAR(80) NOT NULL,
	name TEXT NOT NULL,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE token (
	sha256 VARCHAR(64) NOT NULL,
	principal_id VARCHAR(80) NOT NULL,
	run_id VARCHAR(80),
	created INTEGER NOT NULL,
	expires INTEGER,
	revoked INTEGER,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (sha256)
);
CREATE INDEX token_of_principal ON token (principal_id);
CREATE TABLE usage (
	source VARCHAR(120) NOT NULL,
	epoch INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	allocation_id VARCHAR(80) NOT NULL,
	"from" INTEGER NOT NULL,
	"to" INTEGER NOT NULL,
	metric VARCHAR(32) NOT NULL,
	quantity_int INTEGER NOT NULL,
	unit VARCHAR(32) NOT NULL,
	method VARCHAR(32) NOT NULL,
	quality VARCHAR(32) NOT NULL,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (source, epoch, seq)
);
CREATE INDEX usage_of_allocation ON usage (allocation_id);
CREATE TABLE world (
	run_id VARCHAR(80) NOT NULL,
	attempt INTEGER NOT NULL,
	"from" INTEGER NOT NULL,
	workers INTEGER NOT NULL,
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL,
	PRIMARY KEY (run_id, attempt, "from")
);
