-- Create the role and the database of wattgate. The image of PostgreSQL runs this file by psql as the superuser
-- `postgres`, when its volume is empty. The role of the gateways is no superuser: row-level security restricts it.

\getenv password DATABASE_PASSWORD
CREATE ROLE wattgate LOGIN PASSWORD :'password';
CREATE ROLE wattgate_rows NOLOGIN;
GRANT wattgate_rows TO wattgate;
CREATE DATABASE wattgate OWNER wattgate;
