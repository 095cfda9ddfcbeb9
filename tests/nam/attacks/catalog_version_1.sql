-- A catalog of version 1, as its server has left it: .dump of sqlite3, @DIRECTORY@ for the parent of its directory.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE grants (
  id TEXT PRIMARY KEY NOT NULL, owner INTEGER NOT NULL, bytes INTEGER NOT NULL, storage TEXT NOT NULL,
  file TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER);
INSERT INTO grants VALUES('6446ca94720103c94d7887b0aa6b5bf5',0,1048576,'file','@DIRECTORY@/state/memory/6446ca94720103c94d7887b0aa6b5bf5.memory',1795524052,NULL);
INSERT INTO grants VALUES('9812f09b72489c7945ba2eb1cb36e223',64001,262144,'file','@DIRECTORY@/state/memory/9812f09b72489c7945ba2eb1cb36e223.memory',1795524052,5795524052);
CREATE TABLE windows (
  id TEXT PRIMARY KEY NOT NULL, grant_id TEXT NOT NULL REFERENCES grants(id) ON DELETE CASCADE, body TEXT NOT NULL);
INSERT INTO windows VALUES('e3804ee0a772c5702319c77379a8fb02','6446ca94720103c94d7887b0aa6b5bf5','{"durability":"storage","group":0,"mode":384,"offset":0,"owner":0,"persistent":true,"sizes":[10000,10000],"units":[1,8],"window":"e3804ee0a772c5702319c77379a8fb02"}');
INSERT INTO windows VALUES('7feccdf9a0ca85deca119cb8163d65f6','6446ca94720103c94d7887b0aa6b5bf5','{"durability":"server","group":0,"mode":420,"offset":20480,"owner":0,"persistent":true,"sizes":[100],"units":[4],"window":"7feccdf9a0ca85deca119cb8163d65f6"}');
INSERT INTO windows VALUES('b1ad1722d0018448ef1d95984d6ce05f','6446ca94720103c94d7887b0aa6b5bf5','{"durability":"storage","group":0,"mode":384,"offset":24576,"other_parts":["mpix-nam://0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef?unix=/nowhere"],"owner":0,"persistent":true,"sizes":[5000,0,7],"stripe":65536,"units":[1,2,8],"window":"b1ad1722d0018448ef1d95984d6ce05f"}');
INSERT INTO windows VALUES('6ffa814b923cb9e7a693f6a60d607103','9812f09b72489c7945ba2eb1cb36e223','{"durability":"clients","group":0,"mode":432,"offset":0,"owner":0,"persistent":true,"sizes":[3000],"units":[1],"window":"6ffa814b923cb9e7a693f6a60d607103"}');
CREATE TABLE names (
  name TEXT PRIMARY KEY NOT NULL, port TEXT NOT NULL, owner INTEGER NOT NULL,
  window TEXT NOT NULL REFERENCES windows(id) ON DELETE CASCADE);
INSERT INTO names VALUES('field','mpix-nam://6446ca94720103c94d7887b0aa6b5bf5/e3804ee0a772c5702319c77379a8fb02?unix=@DIRECTORY@/socket',0,'e3804ee0a772c5702319c77379a8fb02');
INSERT INTO names VALUES('./nam_producer','mpix-nam://6446ca94720103c94d7887b0aa6b5bf5/e3804ee0a772c5702319c77379a8fb02?unix=@DIRECTORY@/socket',0,'e3804ee0a772c5702319c77379a8fb02');
INSERT INTO names VALUES('/usr/bin/pro gram','mpix-nam://6446ca94720103c94d7887b0aa6b5bf5/7feccdf9a0ca85deca119cb8163d65f6?unix=@DIRECTORY@/socket',0,'7feccdf9a0ca85deca119cb8163d65f6');
INSERT INTO names VALUES('düse','mpix-nam://9812f09b72489c7945ba2eb1cb36e223/6ffa814b923cb9e7a693f6a60d607103?unix=@DIRECTORY@/socket',0,'6ffa814b923cb9e7a693f6a60d607103');
CREATE INDEX windows_of_grant ON windows(grant_id);
CREATE INDEX names_of_window ON names(window);
PRAGMA user_version=1;
PRAGMA application_id=1297111118;
COMMIT;
