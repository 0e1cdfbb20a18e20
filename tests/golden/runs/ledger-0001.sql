BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
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
INSERT INTO "allocation" VALUES('tiny-0123456789-al1','tiny-0123456789',1,'here/cores','n',NULL,NULL,2,2,1756684800000000,1756684900000000,'default');
INSERT INTO "allocation" VALUES('tiny-0123456789-al2','tiny-0123456789',2,'here/cores','n',NULL,NULL,2,2,1756684910000000,1756685000000000,'default');
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
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL, 
	PRIMARY KEY (run_id, n)
);
INSERT INTO "attempt" VALUES('tiny-0123456789',1,'FAILED','infra',1,'elsewhere/1/1',1152921504606846976,'local',NULL,NULL,NULL,1756684800000000,1756684900000000,'default');
INSERT INTO "attempt" VALUES('tiny-0123456789',2,'SUCCEEDED',NULL,2,'elsewhere/1/1',1152921504606846976,'local',NULL,NULL,NULL,1756684910000000,1756685000000000,'default');
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
INSERT INTO "checkpoint" VALUES('tiny-0123456789',1,50,'/x','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',1756684882000000,'committed','default');
INSERT INTO "checkpoint" VALUES('tiny-0123456789',2,100,'/x','cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc',1756684999000000,'committed','default');
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
INSERT INTO "cost_line" VALUES('5b546323cda927b415cb48b2130da3fd3ce01fc6416c98fa64838865b7b5e163','accrued','tiny-0123456789',1,'tiny-0123456789-al1','here/cores','nlp','compute','direct','useful',1756684800000000,1756684900000000,'0.04288499','core-hour','5330d092cffe74a18825e74ed04185450d38353dbdeb15d1df4ab997b366a14c',521825,'USD','allocation',NULL,'default');
INSERT INTO "cost_line" VALUES('9e7dcaa9dbdcaa1c4f7f9ab525ecc9b6348211b5478d50b7f453ebf861128db9','accrued','tiny-0123456789',1,'tiny-0123456789-al1','here/cores','nlp','compute','direct','replay',1756684800000000,1756684900000000,'0.006003898888888889','core-hour','5330d092cffe74a18825e74ed04185450d38353dbdeb15d1df4ab997b366a14c',73055,'USD','allocation',NULL,'default');
INSERT INTO "cost_line" VALUES('64eca20d357cc64a2ab56a6d0baf6d5307468c0ae84f71b89b3204fb323f53b1','accrued','tiny-0123456789',1,'tiny-0123456789-al1','here/cores','nlp','compute','direct','restart',1756684800000000,1756684900000000,'0.005555555555555556','core-hour','5330d092cffe74a18825e74ed04185450d38353dbdeb15d1df4ab997b366a14c',67600,'USD','allocation',NULL,'default');
INSERT INTO "cost_line" VALUES('33ba3a54b4a7116966860ef73647798c45325202fd49edeea9c16f605f930eb0','accrued','tiny-0123456789',1,'tiny-0123456789-al1','here/cores','nlp','compute','direct','checkpoint',1756684800000000,1756684900000000,'0.001111111111111111','core-hour','5330d092cffe74a18825e74ed04185450d38353dbdeb15d1df4ab997b366a14c',13520,'USD','allocation',NULL,'default');
INSERT INTO "cost_line" VALUES('c8bd0e5e5d8ecd11f5715d95a2620bb49a0cf17da2219c771834e609978e77fc','accrued','tiny-0123456789',1,'tiny-0123456789-al1','here/cores','nlp','energy','direct','useful',1756684800000000,1756684900000000,'0.00021442495','kWh','a904a84afd15068aa9e27de92caf4451e16b0d4b6b9aeaf670341520334d9dbf',31306,'USD','model',NULL,'default');
INSERT INTO "cost_line" VALUES('a7c9039e74573306e01ce33837db17cb063be495f1df0ca5706102af15fb8db4','accrued','tiny-0123456789',1,'tiny-0123456789-al1','here/cores','nlp','energy','direct','replay',1756684800000000,1756684900000000,'0.000030019494444444','kWh','a904a84afd15068aa9e27de92caf4451e16b0d4b6b9aeaf670341520334d9dbf',4383,'USD','model',NULL,'default');
INSERT INTO "cost_line" VALUES('24112e330eab1dd8c0fd127e080360932f0d48afdb82750581101b00c76cab55','accrued','tiny-0123456789',1,'tiny-0123456789-al1','here/cores','nlp','energy','direct','restart',1756684800000000,1756684900000000,'0.000027777777777778','kWh','a904a84afd15068aa9e27de92caf4451e16b0d4b6b9aeaf670341520334d9dbf',4056,'USD','model',NULL,'default');
INSERT INTO "cost_line" VALUES('7e35ceeb7a7b8b7458e05b8d93774cf72bdc74b74e3a10dfe5acd3c7bc286c90','accrued','tiny-0123456789',1,'tiny-0123456789-al1','here/cores','nlp','energy','direct','checkpoint',1756684800000000,1756684900000000,'0.000005555555555556','kWh','a904a84afd15068aa9e27de92caf4451e16b0d4b6b9aeaf670341520334d9dbf',811,'USD','model',NULL,'default');
INSERT INTO "cost_line" VALUES('2f3ddc9f63a20dbcacde6179c2b7f88502c54b1a3ad3ade12b9fa8cd4cfced85','accrued','tiny-0123456789',2,'tiny-0123456789-al2','here/cores','nlp','compute','direct','useful',1756684910000000,1756685000000000,'0.047222222222222222','core-hour','5330d092cffe74a18825e74ed04185450d38353dbdeb15d1df4ab997b366a14c',574600,'USD','allocation',NULL,'default');
INSERT INTO "cost_line" VALUES('676855c883a104eb55a3664b7ba789335803421831fb0a13c88e7f1a0a88f058','accrued','tiny-0123456789',2,'tiny-0123456789-al2','here/cores','nlp','compute','direct','restart',1756684910000000,1756685000000000,'0.002777777777777778','core-hour','5330d092cffe74a18825e74ed04185450d38353dbdeb15d1df4ab997b366a14c',33800,'USD','allocation',NULL,'default');
INSERT INTO "cost_line" VALUES('ba1a7693eb0fcb8dc35daf57e176fc43eb99871548206657d6bc7ba9d588d80d','accrued','tiny-0123456789',2,'tiny-0123456789-al2','here/cores','nlp','energy','direct','useful',1756684910000000,1756685000000000,'0.000236111111111111','kWh','a904a84afd15068aa9e27de92caf4451e16b0d4b6b9aeaf670341520334d9dbf',34472,'USD','model',NULL,'default');
INSERT INTO "cost_line" VALUES('d5e728a2a33a65ecfa954152dda84204d19b795298537d61e4c21616e796c97f','accrued','tiny-0123456789',2,'tiny-0123456789-al2','here/cores','nlp','energy','direct','restart',1756684910000000,1756685000000000,'0.000013888888888889','kWh','a904a84afd15068aa9e27de92caf4451e16b0d4b6b9aeaf670341520334d9dbf',2028,'USD','model',NULL,'default');
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
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,1,'tiny-0123456789',NULL,'run.submitted',1756684800000000,1796644072751775,'{"name":"tiny","spec":{"job":{},"resolved":{"entrypoint":"python tiny.py","workdir":"/tmp"}},"team":"nlp"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,2,'tiny-0123456789',1,'attempt.opened',1756684800000000,1796644072759747,'{"backend":"local","lease_epoch":1,"lease_expires_at":1152921504606846976,"lease_holder":"elsewhere/1/1"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,3,'tiny-0123456789',1,'allocation.opened',1756684800000000,1796644072765658,'{"id":"tiny-0123456789-al1","node":"n","pool":{"capacity":"owned","currency":"USD","id":"here/cores","instance":"2 cores"},"share_den":2,"share_num":2,"site":{"id":"here","kind":"owned","location":"USA","region":null}}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,4,'tiny-0123456789',1,'attempt.state',1756684800000000,1796644072773154,'{"to":"ADMITTED"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,5,'tiny-0123456789',NULL,'run.state',1756684800000000,1796644072779468,'{"to":"ADMITTED"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,6,'tiny-0123456789',1,'attempt.state',1756684800000000,1796644072791179,'{"to":"PROVISIONING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,7,'tiny-0123456789',NULL,'run.state',1756684800000000,1796644072793774,'{"to":"PROVISIONING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,8,'tiny-0123456789',1,'phase',1756684800000000,1796644072795756,'{"kind":"provision"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,9,'tiny-0123456789',1,'attempt.state',1756684805000000,1796644072798997,'{"to":"STARTING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,10,'tiny-0123456789',NULL,'run.state',1756684805000000,1796644072800859,'{"to":"STARTING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,11,'tiny-0123456789',1,'phase',1756684805000000,1796644072802756,'{"kind":"boot"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,12,'tiny-0123456789',1,'attempt.state',1756684810000000,1796644072804440,'{"to":"RUNNING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,13,'tiny-0123456789',NULL,'run.state',1756684810000000,1796644072805950,'{"to":"RUNNING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,14,'tiny-0123456789',1,'phase',1756684810000000,1796644072807764,'{"kind":"train"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,15,'tiny-0123456789',1,'world',1756684810000000,1796644072809651,'{"workers":2}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,16,'tiny-0123456789',1,'metric',1756684810000000,1796644072811731,'{"name":"held_out_loss","step":0,"value":"2.5"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,17,'tiny-0123456789',1,'progress',1756684820000000,1796644072812838,'{"loss":"0.5","samples":160,"step":10,"steps":100,"tokens":16000}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,18,'tiny-0123456789',1,'progress',1756684880000000,1796644072814952,'{"loss":"0.5","samples":800,"step":50,"steps":100,"tokens":80000}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,19,'tiny-0123456789',1,'phase',1756684880000000,1796644072816534,'{"kind":"checkpoint"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,20,'tiny-0123456789',1,'checkpoint',1756684882000000,1796644072818803,'{"manifest_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","step":50,"uri":"/x"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,21,'tiny-0123456789',1,'phase',1756684882000000,1796644072821450,'{"kind":"train"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,22,'tiny-0123456789',1,'progress',1756684895000000,1796644072823501,'{"loss":"0.5","samples":912,"step":57,"steps":100,"tokens":91200}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,29,'tiny-0123456789',1,'log',1756684900000000,1796644072829471,'{"bytes":3,"sha":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","stream":"driver","uri":"/log"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,30,'tiny-0123456789',1,'allocation.closed',1756684900000000,1796644072834073,'{"id":"tiny-0123456789-al1"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,31,'tiny-0123456789',1,'attempt.state',1756684900000000,1796644072835876,'{"failure_class":"infra","to":"FAILED"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,32,'tiny-0123456789',NULL,'run.state',1756684900000000,1796644072860086,'{"reason":"a worker died","to":"RESTARTING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,33,'tiny-0123456789',2,'attempt.opened',1756684910000000,1796644072862220,'{"backend":"local","lease_epoch":2,"lease_expires_at":1152921504606846976,"lease_holder":"elsewhere/1/1"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,34,'tiny-0123456789',2,'allocation.opened',1756684910000000,1796644072863991,'{"id":"tiny-0123456789-al2","node":"n","pool":{"capacity":"owned","currency":"USD","id":"here/cores","instance":"2 cores"},"share_den":2,"share_num":2,"site":{"id":"here","kind":"owned","location":"USA","region":null}}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,35,'tiny-0123456789',2,'attempt.state',1756684910000000,1796644072866054,'{"to":"ADMITTED"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,36,'tiny-0123456789',2,'phase',1756684910000000,1796644072867743,'{"kind":"boot"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,37,'tiny-0123456789',2,'attempt.state',1756684910000000,1796644072869531,'{"to":"PROVISIONING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,38,'tiny-0123456789',2,'attempt.state',1756684910000000,1796644072871283,'{"to":"STARTING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,39,'tiny-0123456789',2,'attempt.state',1756684915000000,1796644072872999,'{"to":"RUNNING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,40,'tiny-0123456789',NULL,'run.state',1756684915000000,1796644072874785,'{"to":"RUNNING"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,41,'tiny-0123456789',2,'phase',1756684915000000,1796644072876518,'{"kind":"train"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,42,'tiny-0123456789',2,'note',1756684916000000,1796644072878404,'{"step":50,"what":"restored"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,43,'tiny-0123456789',2,'progress',1756684950000000,1796644072879565,'{"loss":"0.5","samples":1280,"step":80,"steps":100,"tokens":128000}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,44,'tiny-0123456789',2,'progress',1756684999000000,1796644072880900,'{"loss":"0.25","samples":1600,"step":100,"steps":100,"tokens":160000}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,45,'tiny-0123456789',2,'metric',1756684999000000,1796644072887467,'{"name":"held_out_loss","step":100,"value":"1.25"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,46,'tiny-0123456789',2,'checkpoint',1756684999000000,1796644072889331,'{"manifest_sha":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","step":100,"uri":"/x"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,50,'tiny-0123456789',2,'allocation.closed',1756685000000000,1796644072893323,'{"id":"tiny-0123456789-al2"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,51,'tiny-0123456789',2,'attempt.state',1756685000000000,1796644072894058,'{"failure_class":null,"to":"SUCCEEDED"}','default');
INSERT INTO "event" VALUES('test:tiny-0123456789',1796644072744993,52,'tiny-0123456789',NULL,'run.state',1756685000000000,1796644072903348,'{"to":"SUCCEEDED"}','default');
INSERT INTO "event" VALUES('test:other-zzzzzzzzzz',1796644072904861,1,'other-zzzzzzzzzz',NULL,'run.submitted',1756685100000000,1796644072905156,'{"name":"other","spec":{"job":{},"resolved":{"entrypoint":"python tiny.py","workdir":"/tmp"}},"team":"nlp"}','default');
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
INSERT INTO "log" VALUES('tiny-0123456789',1,'driver','/log',3,'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','default');
CREATE TABLE phase (
	run_id VARCHAR(80) NOT NULL, 
	attempt INTEGER NOT NULL, 
	"from" INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	"to" INTEGER, 
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL, 
	PRIMARY KEY (run_id, attempt, "from", kind)
);
INSERT INTO "phase" VALUES('tiny-0123456789',1,1756684800000000,'provision',1756684805000000,'default');
INSERT INTO "phase" VALUES('tiny-0123456789',1,1756684805000000,'boot',1756684810000000,'default');
INSERT INTO "phase" VALUES('tiny-0123456789',1,1756684810000000,'train',1756684880000000,'default');
INSERT INTO "phase" VALUES('tiny-0123456789',1,1756684880000000,'checkpoint',1756684882000000,'default');
INSERT INTO "phase" VALUES('tiny-0123456789',1,1756684882000000,'train',1756684900000000,'default');
INSERT INTO "phase" VALUES('tiny-0123456789',2,1756684910000000,'boot',1756684915000000,'default');
INSERT INTO "phase" VALUES('tiny-0123456789',2,1756684915000000,'train',1756685000000000,'default');
CREATE TABLE pool (
	id VARCHAR(80) NOT NULL, 
	site_id VARCHAR(80) NOT NULL, 
	instance TEXT NOT NULL, 
	capacity TEXT NOT NULL, 
	currency VARCHAR(3) NOT NULL, 
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "pool" VALUES('here/cores','here','2 cores','owned','USD','default');
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
INSERT INTO "price" VALUES('5330d092cffe74a18825e74ed04185450d38353dbdeb15d1df4ab997b366a14c','fb924ffef6987dcc069c6135dc44ece26a72dc6fdb1880723edd015611087135','here/core','core-hour','0.012168','USD',1735689600000000,NULL,'assumed: 22,000 USD server (15,000 to 35,000 in 2025-06), +20 % network and spares, 10 % residual, 5 years at 8 %, 3 % maintenance, half used, by 128 cores','default');
INSERT INTO "price" VALUES('a904a84afd15068aa9e27de92caf4451e16b0d4b6b9aeaf670341520334d9dbf','fb924ffef6987dcc069c6135dc44ece26a72dc6fdb1880723edd015611087135','here/energy','kWh','0.146','USD',1735689600000000,NULL,'EIA, US commercial average, 2026-04','default');
CREATE TABLE price_snapshot (
	sha256 VARCHAR(64) NOT NULL, 
	source TEXT NOT NULL, 
	licence TEXT NOT NULL, 
	fetched_at INTEGER NOT NULL, 
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL, 
	PRIMARY KEY (sha256)
);
INSERT INTO "price_snapshot" VALUES('fb924ffef6987dcc069c6135dc44ece26a72dc6fdb1880723edd015611087135','headway package, catalog/data/here.toml','single facts, sources named',1788134400000000,'default');
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
INSERT INTO "progress" VALUES('tiny-0123456789',1,1756684820000000,10,160,16000,'0.5','default');
INSERT INTO "progress" VALUES('tiny-0123456789',1,1756684880000000,50,800,80000,'0.5','default');
INSERT INTO "progress" VALUES('tiny-0123456789',1,1756684895000000,57,912,91200,'0.5','default');
INSERT INTO "progress" VALUES('tiny-0123456789',2,1756684950000000,80,1280,128000,'0.5','default');
INSERT INTO "progress" VALUES('tiny-0123456789',2,1756684999000000,100,1600,160000,'0.25','default');
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
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (org_id, request_key)
);
INSERT INTO "run" VALUES('tiny-0123456789','tiny','nlp',NULL,NULL,'{}','{"job":{},"resolved":{"entrypoint":"python tiny.py","workdir":"/tmp"}}','34d71ad5049a1ed67bb0f45a292efe6fe9ce60aaa7dc764e815290952bf9c230',NULL,'SUCCEEDED',NULL,NULL,8,'tiny-0123456789',NULL,'{}',1756684800000000,1756685000000000,'default');
INSERT INTO "run" VALUES('other-zzzzzzzzzz','other','nlp',NULL,NULL,'{}','{"job":{},"resolved":{"entrypoint":"python tiny.py","workdir":"/tmp"}}','34d71ad5049a1ed67bb0f45a292efe6fe9ce60aaa7dc764e815290952bf9c230',NULL,'QUEUED',NULL,NULL,1,'other-zzzzzzzzzz',NULL,'{}',1756685100000000,NULL,'default');
CREATE TABLE site (
	id VARCHAR(80) NOT NULL, 
	kind TEXT NOT NULL, 
	region TEXT, 
	location TEXT, 
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "site" VALUES('here','owned',NULL,'USA','default');
CREATE TABLE team (
	id VARCHAR(80) NOT NULL, 
	name TEXT NOT NULL, 
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "team" VALUES('nlp','nlp','default');
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
INSERT INTO "usage" VALUES('test:tiny-0123456789',1796644072744993,23,'tiny-0123456789-al1',1756684800000000,1756684840000000,'core_held',80000000,'core_microsecond','allocation','measured','default');
INSERT INTO "usage" VALUES('test:tiny-0123456789',1796644072744993,24,'tiny-0123456789-al1',1756684800000000,1756684840000000,'core_used',40000000,'core_microsecond','procfs','sampled','default');
INSERT INTO "usage" VALUES('test:tiny-0123456789',1796644072744993,25,'tiny-0123456789-al1',1756684800000000,1756684840000000,'energy',400000000,'microjoule','model','modelled','default');
INSERT INTO "usage" VALUES('test:tiny-0123456789',1796644072744993,26,'tiny-0123456789-al1',1756684840000000,1756684900000000,'core_held',120000000,'core_microsecond','allocation','measured','default');
INSERT INTO "usage" VALUES('test:tiny-0123456789',1796644072744993,27,'tiny-0123456789-al1',1756684840000000,1756684900000000,'core_used',60000000,'core_microsecond','procfs','sampled','default');
INSERT INTO "usage" VALUES('test:tiny-0123456789',1796644072744993,28,'tiny-0123456789-al1',1756684840000000,1756684900000000,'energy',600000000,'microjoule','model','modelled','default');
INSERT INTO "usage" VALUES('test:tiny-0123456789',1796644072744993,47,'tiny-0123456789-al2',1756684910000000,1756685000000000,'core_held',180000000,'core_microsecond','allocation','measured','default');
INSERT INTO "usage" VALUES('test:tiny-0123456789',1796644072744993,48,'tiny-0123456789-al2',1756684910000000,1756685000000000,'core_used',90000000,'core_microsecond','procfs','sampled','default');
INSERT INTO "usage" VALUES('test:tiny-0123456789',1796644072744993,49,'tiny-0123456789-al2',1756684910000000,1756685000000000,'energy',900000000,'microjoule','model','modelled','default');
CREATE TABLE world (
	run_id VARCHAR(80) NOT NULL, 
	attempt INTEGER NOT NULL, 
	"from" INTEGER NOT NULL, 
	workers INTEGER NOT NULL, 
	org_id VARCHAR(64) DEFAULT 'default' NOT NULL, 
	PRIMARY KEY (run_id, attempt, "from")
);
INSERT INTO "world" VALUES('tiny-0123456789',1,1756684810000000,2,'default');
CREATE INDEX run_by_state ON run (state);
CREATE INDEX run_by_creation ON run (created);
CREATE INDEX event_of_run ON event (run_id, kind);
CREATE INDEX event_by_recording ON event (recorded_at);
CREATE INDEX allocation_of_run ON allocation (run_id, attempt);
CREATE INDEX usage_of_allocation ON usage (allocation_id);
CREATE INDEX cost_line_of_run ON cost_line (run_id);
COMMIT;
